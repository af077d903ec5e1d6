"""Builds the images with podman, on a root made of Debian's packages, and runs them.

No registry is needed: Debian's mirror, and the index that pip is set up for on this machine. The
root is kept in the user's cache folder, the newest images and their layers in podman's storage.
``podman image prune`` removes the layers.
"""

from __future__ import annotations

import ast
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ludus.sandbox.backend import podman
from tests.containers.recipe import ROOT
from tests.sandbox.support import why_not

__all__ = ["CANARY", "HARDENED", "ULIMITS", "build_all", "inspected", "run", "started"]

BASE = "localhost/ludus-test-debian:trixie"
SUITE = "trixie"
MIRROR = os.environ.get("LUDUS_TEST_MIRROR", "http://deb.debian.org/debian")
CANARY = "a-line-of-the-settings-that-no-image-has"
"""In the settings of pip that the build gets."""
LEFT_OUT = ("./var/cache/apt", "./var/lib/apt/lists/", "./var/log/")
ULIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")
HARDENED = (
    *ULIMITS,
    "--network=none",
    "--read-only",
    "--read-only-tmpfs=false",
    "--tmpfs=/tmp:size=256m,mode=1777,noexec,nosuid,nodev",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--memory=1g",
    "--memory-swap=1g",
    "--pids-limit=256",
    "--cpus=1",
)
"""The settings of compose.yaml as options of podman, and no network but loopback."""
PIP_SETTINGS = ("index-url", "extra-index-url", "find-links", "trusted-host", "proxy", "cert")


def run(*words: str, seconds: float = 120, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run podman, and fail with what it says."""
    argv = ["podman", *podman._runtime(), *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds, cwd=ROOT)
    if check and done.returncode != 0:
        pytest.fail(f"{' '.join(argv)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done


def build_all(folder: Path) -> dict[str, str]:
    """Build both images and return their names by target; skip the test where none can be built.

    Of processes that want this at the same time, one builds, and the others take its layers.
    """
    if reason := why_not("podman", root=True):
        pytest.skip(f"podman: {reason}")
    with (_cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _import_base()
        return {target: _build(target, folder) for target in ("ludus", "serve")}


def _import_base() -> None:
    if run("image", "exists", BASE, check=False).returncode == 0:
        return
    packed = _cache() / f"debian-{SUITE}.tar"
    if not packed.exists():
        if shutil.which("debootstrap") is None:
            pytest.skip("found no debootstrap; `make test-all` installs it as root")
        try:
            urllib.request.urlopen(f"{MIRROR}/dists/{SUITE}/InRelease", timeout=20).close()
        except OSError as problem:
            pytest.skip(f"{MIRROR} cannot be reached: {problem}; set LUDUS_TEST_MIRROR to another")
        _bootstrap(packed)
    run("import", "--quiet", str(packed), BASE)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(base).expanduser() / "ludus-tests"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _bootstrap(packed: Path) -> None:
    folder = packed.with_suffix(f".{os.getpid()}")
    try:
        argv = ["debootstrap", "--variant=minbase", SUITE, str(folder), MIRROR]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=1200)
        if done.returncode != 0:
            pytest.fail(f"{' '.join(argv)}\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
        partial = packed.with_suffix(f".{os.getpid()}.tar")
        with tarfile.open(partial, "w") as archive:
            archive.add(
                folder, ".", filter=lambda one: None if one.name.startswith(LEFT_OUT) else one
            )
        partial.rename(packed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _build(target: str, folder: Path) -> str:
    options, settings = _pip_settings()
    secret = folder / "pip.conf"
    secret.write_text(settings)
    name = f"localhost/ludus-test-{target}:1"
    before = _id(name)
    run(
        "build", *ULIMITS, "--format=docker", "--network=host", "--layers", "--pull=never",
        f"--secret=id=pip,src={secret}", *options,
        f"--build-arg=BASE={BASE}", f"--target={target}", f"--tag={name}", ".",
        seconds=2400,
    )  # fmt: skip
    if before and before != _id(name):
        run("image", "rm", before, check=False)
    return name


def _id(image: str) -> str:
    return run("image", "inspect", "--format={{.Id}}", image, check=False).stdout.strip()


def _pip_settings() -> tuple[list[str], str]:
    """Return options that show folders to the build, and this machine's settings of pip."""
    argv = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    found: dict[str, str] = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key in PIP_SETTINGS:
            found[key] = ast.literal_eval(value)
    options: list[str] = []
    if certificate := found.get("cert"):
        options.append(f"--secret=id=ca,src={certificate}")
        found["cert"] = "/run/secrets/ca"
    for key, value in found.items():
        words = []
        for word in value.split():
            path = Path(word.removeprefix("file://"))
            if key != "cert" and path.is_absolute() and path.is_dir():
                place = f"/mnt/{len(options)}"
                options.append(f"--volume={path}:{place}:ro")
                word = word.replace(str(path), place)
            words.append(word)
        found[key] = " ".join(words)
    lines = [f"{key} = {value}" for key, value in found.items()]
    return options, "\n".join([f"# {CANARY}", "[global]", *lines, ""])


@contextmanager
def started(image: str, *words: str, options: tuple[str, ...] = ()) -> Iterator[str]:
    """Start a container with the hardened settings and yield its id; remove it in the end."""
    made = run("run", "--detach", *HARDENED, *options, image, *words).stdout.strip()
    try:
        yield made
    finally:
        run("rm", "--force", "--time=0", made, check=False)


def inspected(container: str) -> dict[str, object]:
    """Return what podman knows of a container."""
    return json.loads(run("container", "inspect", container).stdout)[0]
