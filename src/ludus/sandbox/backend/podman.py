"""Sandboxes in containers of podman, which has no daemon: its program makes and removes them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from ludus.errors import SandboxError
from ludus.sandbox.backend.blueprint import Blueprint
from ludus.sandbox.backend.containers import (
    SANDBOX_LABEL,
    ContainerSandbox,
    give_back_user,
    why_no_sandbox,
    why_not_here,
)
from ludus.sandbox.backend.gpus import (
    CDI_FOLDERS,
    Gpu,
    cdi_gpus,
    device_files,
    device_nodes,
    refusal,
)
from ludus.sandbox.backend.images import Image, image_missing
from ludus.sandbox.image_names import check_image_name
from ludus.sandbox.leases import Record
from ludus.sandbox.linux import seccomp

__all__ = ["Podman", "reclaim"]

_QUIET = ("--log-level", "error", "--events-backend", "none")
# --rm: its monitor removes the container when it ends, even if the owner was killed. More ulimits
# than the caller has would need a right that it may lack.
_FIXED = """
    --detach --rm --pull=never --read-only --read-only-tmpfs=false --cap-drop=ALL
    --security-opt=no-new-privileges --security-opt=label=disable --systemd=false
    --image-volume=ignore --no-healthcheck --unsetenv-all
    --env=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    --log-driver=none --no-hosts --passwd=false --cgroupns=private --ipc=private --pid=private
    --uts=private --hostname=ludus --ulimit=nofile=1024:1024 --ulimit=nproc=1024:1024
    --ulimit=core=0:0
"""
_PATIENCE = 60.0
_NO_IMAGE = "no such image|image not known|no such object"


class Podman(ContainerSandbox):
    """A sandbox in a container of podman. Open it with ``open_sandbox``."""

    backend = "podman"
    _made = False

    @classmethod
    def unavailable(cls) -> str | None:
        """Return why sandboxes cannot be made here, after one trial per process."""
        return _trial()

    @classmethod
    def find_image(cls, name: str) -> Image:
        """Return an image of podman's storage."""
        try:
            found = json.loads(_podman("image", "inspect", check_image_name(name)))
        except SandboxError as problem:
            if re.search(_NO_IMAGE, str(problem), re.IGNORECASE):
                raise image_missing(name, "podman") from None
            raise
        return Image.of(name, found[0])

    @classmethod
    def find_gpus(cls) -> tuple[Gpu, ...]:
        """Return the GPUs of CDI files."""
        if found := cdi_gpus():
            return found
        nodes, places = device_nodes(), " or ".join(CDI_FOLDERS)
        if not nodes:
            raise refusal(1, f"this machine has none: no device file, and no CDI file in {places}.")
        raise refusal(
            1,
            f"podman knows none: found {', '.join(nodes)}, required is a CDI file in {places} that "
            "lists them. For GPUs of NVIDIA install nvidia-container-toolkit and run "
            "`nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`.",
        )

    def _make(self, blueprint: Blueprint) -> int:
        file = blueprint.folder / "pid"
        _podman("run", f"--pidfile={file}", *_options(blueprint))
        self._made = True
        return int(file.read_text())

    def _remove(self) -> None:
        name = f"ludus-{self.name}"
        # If podman failed half-way, a container of that name may not be ours.
        if self._made or _label(name) == self.name:
            _remove(name)


def reclaim(record: Record) -> None:
    """Remove the container of a dead owner's sandbox."""
    name = record.get("container")
    if name and _label(name) == record["name"]:
        _remove(name)
    give_back_user(record)


def _options(blueprint: Blueprint) -> list[str]:
    policy, folder = blueprint.policy, blueprint.folder
    profile = folder / "seccomp.json"
    profile.write_text(json.dumps(seccomp.engine_profile()))
    made = [*_FIXED.split(), f"--name={blueprint.name}"]
    made.append(f"--label={SANDBOX_LABEL}={blueprint.sandbox}")
    made += [f"--security-opt=seccomp={profile}", f"--user={blueprint.uid}:{blueprint.uid}"]
    made.append("--network=host" if policy.network == "host" else "--network=none")
    if policy.memory is not None:
        made += [f"--memory={policy.memory}", f"--memory-swap={policy.memory}"]
    if policy.cpus is not None:
        made.append(f"--cpus={policy.cpus}")
    made.append(f"--pids-limit={-1 if blueprint.pids is None else blueprint.pids}")
    for path, size in blueprint.sizes.items():
        made.append(f"--tmpfs={path}:rw,notmpcopyup" + ("" if size is None else f",size={size}"))
    if blueprint.image is None:
        files = device_files(blueprint.gpus)
        made += [f"--device={outside}:{inside}:rw" for outside, inside in files]
    else:
        made += [f"--device={gpu.name}" for gpu in blueprint.gpus]
    for bind in blueprint.binds:
        for path in (bind.source, bind.target):
            if ":" in path or "," in path:
                raise SandboxError(f"podman takes no path with ':' or ',' such as {path!r}.")
        made.append(f"--volume={bind.source}:{bind.target}:{'rw' if bind.writable else 'ro'}")
    program, *arguments = blueprint.argv
    if blueprint.image is None:
        return [*made, "--rootfs", str(folder / "root"), program, *arguments]
    # By its id: a name may mean another image by now.
    image = blueprint.image.digest
    return [*made, "--workdir=/", f"--entrypoint={program}", image, *arguments]


def _label(name: str) -> str | None:
    """Return which sandbox a container says it is; ``None`` if it says nothing or is not there."""
    listed = json.loads(_podman("ps", "--all", f"--filter=name=^{name}$", "--format=json"))
    labels = listed[0].get("Labels") if listed else None
    return (labels or {}).get(SANDBOX_LABEL)


def _remove(name: str) -> None:
    _podman("rm", "--force", "--ignore", "--time=0", name)


def _podman(*words: str) -> str:
    """Run podman, which ends with its caller, and return its output.

    Raises:
        SandboxError: it fails.
    """
    argv = ["setpriv", "--pdeathsig", "KILL", "podman", *_QUIET, *_runtime(), *words]
    try:
        done = subprocess.run(  # noqa: S603 - our own arguments
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"podman {words[0]} failed: {error}.") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "backslashreplace").strip()[-1000:]
        raise SandboxError(f"podman {words[0]} failed: {said!r}.")
    return done.stdout.decode("utf-8", "replace")


@cache
def _runtime() -> tuple[str, ...]:
    """Return the options for who makes containers and control groups."""
    # crun refuses machines with control groups of both versions.
    chosen = ["--runtime", "runc"] if shutil.which("runc") else []
    if not Path("/run/systemd/system").is_dir():
        chosen += ["--cgroup-manager", "cgroupfs"]
    return tuple(chosen)


@cache
def _trial() -> str | None:
    if (reason := why_not_here()) is not None:
        return reason
    for program, package in (("podman", "podman"), ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            return (
                f"Found no {program} on PATH; required is podman 4.3 or later with runc. "
                f"Install it: apt-get install --no-install-recommends {package} runc."
            )
    return why_no_sandbox(Podman)
