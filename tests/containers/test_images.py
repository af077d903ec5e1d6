"""The images are built and run with podman, on a root made of Debian's packages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.version import __version__
from tests.containers import attempts
from tests.containers.building import (
    CANARY,
    HARDENED,
    ULIMITS,
    build_all,
    inspected,
    run,
    started,
)

pytestmark = pytest.mark.timeout(3600)

HERE = Path(__file__).parent
TOKEN = "a-token-of-thirty-two-characters"
PORT = 8000
# One environment of each engine that the image has, and pictures drawn without a screen.
STEPS = """
import ludus
for name in ("CartPole-v1", "FrozenLake-v1", "LunarLander-v3", "Ant-v5", "ConnectFour-v1"):
    env = ludus.make(name)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.close()
    print(name)
env = ludus.make("CarRacing-v3", render_mode="rgb_array")
env.reset(seed=0)
print(env.render().shape)
envs = ludus.make_vec("CartPole-v1", 8, compile="wait")
envs.reset(seed=0)
print("compiled")
"""
BYTECODE = """
import importlib.util, json, pathlib, shutil, ludus
folder = pathlib.Path(ludus.__file__).parent
files = [*folder.rglob("*.py")]
kept = [pathlib.Path(importlib.util.cache_from_source(str(file))) for file in files]
# Flags 1: the source is not looked at.
right = [path.exists() and path.read_bytes()[4:8] == bytes([1, 0, 0, 0]) for path in kept]
programs = ("gcc", "cc", "c++", "ld", "make", "pip", "pip3", "git", "curl", "wget")
modules = ("pip", "setuptools", "wheel", "hatchling", "ensurepip", "ale_py")
print(json.dumps({
    "files": len(files),
    "without": [str(file) for file, found in zip(files, right) if not found],
    "programs": [name for name in programs if shutil.which(name)],
    "modules": [name for name in modules if importlib.util.find_spec(name)],
}))
"""


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return build_all(tmp_path_factory.mktemp("settings"))


@pytest.fixture
def token_file(tmp_path):
    """Readable for the user of the image, who is none of this machine."""
    tmp_path.chmod(0o755)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o444)
    return file


def python(image, code, *, options=HARDENED):
    words = ("run", "--rm", *options, "--entrypoint=python3", image, "-c", code)
    return run(*words, seconds=300).stdout


def ask(container, what="environment"):
    """Ask the server of a container from inside its network."""
    pid = inspected(container)["State"]["Pid"]
    argv = ["nsenter", f"--target={pid}", "--net", sys.executable, "-m", "tests.containers.client"]
    argv += [str(PORT), what]
    done = subprocess.run(argv, input=TOKEN, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr + logs(container)
    return json.loads(done.stdout)


def logs(container):
    done = run("logs", container)
    return done.stdout + done.stderr


def test_the_command_line(images):
    said = run("run", "--rm", *HARDENED, images["ludus"], "--version").stdout
    assert said == f"ludus {__version__}\n"
    assert "ludus" in run("run", "--rm", *HARDENED, images["ludus"]).stdout
    shown = run("run", "--rm", *HARDENED, images["ludus"], "envs", "cartpole", "--ids").stdout
    assert "CartPole-v1" in shown.split()
    wrong = run("run", "--rm", *HARDENED, images["ludus"], "show", "CartPol-v1", check=False)
    assert wrong.returncode != 0
    assert "Did you mean: `CartPole`" in wrong.stderr


def test_environments_of_every_engine(images):
    said = python(images["ludus"], STEPS).split("\n")
    assert {
        "CartPole-v1",
        "FrozenLake-v1",
        "LunarLander-v3",
        "Ant-v5",
        "ConnectFour-v1",
        "compiled",
    } <= {*said}
    assert re.search(r"\(\d+, \d+, 3\)", "\n".join(said))


def test_an_attacker_in_the_container_reaches_nothing(images):
    said = json.loads(python(images["ludus"], (HERE / "attempts.py").read_text()))
    assert said == {"tried": len(attempts.ATTEMPTS), "succeeded": []}


def test_the_attempts_succeed_where_nothing_is_forbidden(images):
    """Otherwise the test above would prove nothing."""
    code = (HERE / "attempts.py").read_text()
    options = (*ULIMITS, "--network=none", "--user=0:0")
    said = json.loads(python(images["ludus"], code, options=options))
    assert {
        "be root",
        "have a capability",
        "write to the root",
        "change the library",
        "change the users",
        "change the root",
        "run a program of one's own",
    } <= {*said["succeeded"]}


def test_files_of_the_images(images):
    """Bytecode of every module, no tools to build with, nothing that a user could change."""
    told = json.loads(python(images["ludus"], BYTECODE))
    assert told.pop("files") > 300
    assert told == {"without": [], "programs": [], "modules": []}
    folder = Path(run("image", "mount", images["serve"]).stdout.strip())
    try:
        own = {"/work"}
        open_to_all = {"/tmp", "/var/tmp", "/run/lock"}
        for path in (folder, *folder.rglob("*")):
            status, name = path.lstat(), f"/{path.relative_to(folder)}"
            if path.is_symlink() or name.startswith("/dev/"):
                continue
            assert not status.st_mode & 0o6000 or path.is_dir(), f"{name} runs as its owner"
            assert status.st_uid == 0 or name in own, name
            assert not status.st_mode & 0o002 or name in open_to_all, name
    finally:
        run("image", "unmount", images["serve"], check=False)


def test_no_settings_of_the_build_stay(images):
    """In no layer: those of the image are what its history lists."""
    for image in images.values():
        history = run("history", "--no-trunc", image).stdout
        settings = json.dumps(json.loads(run("image", "inspect", image).stdout)[0]["Config"])
        for text in (history, settings):
            assert CANARY not in text
            assert "index-url" not in text
        copied = [line for line in history.splitlines() if "COPY" in line]
        assert len(copied) == 1
        assert "/opt/ludus" in copied[0]
    folder = run("image", "mount", images["ludus"]).stdout.strip()
    try:
        places = [
            f"{folder}/{name}" for name in ("etc", "opt", "root", "run", "tmp", "var", "work")
        ]
        found = subprocess.run(["grep", "-rlF", CANARY, *places], capture_output=True, text=True)
        assert (found.returncode, found.stdout) == (1, "")
    finally:
        run("image", "unmount", images["ludus"], check=False)


def test_the_user_is_a_number(images):
    for image in images.values():
        config = json.loads(run("image", "inspect", image).stdout)[0]["Config"]
        assert config["User"] == "10001:10001"
    assert [*config["ExposedPorts"]] == [f"{PORT}/tcp"]


def test_serve_answers_with_the_token_of_a_file(images, token_file):
    options = (
        f"--volume={token_file}:/run/secrets/token:ro",
        "--env=LUDUS_SERVE_TOKEN_FILE=/run/secrets/token",
    )
    with started(images["serve"], "CartPole-v1", "FrozenLake-v1", options=options) as container:
        told = ask(container)
        assert told["health"] == 200
        assert told["metrics"] == [401, 401, 200]
        assert told["socket with another token"] == 401
        assert told["another host"] == 421
        assert told["reset"][0] == 200
        assert_equals_local(told["episode"])
        # The health check is in the image, and needs no token.
        assert run("healthcheck", "run", container).returncode == 0
        state = inspected(container)
        process = Path(f"/proc/{state['State']['Pid']}")
        status = (process / "status").read_text()
        assert re.search(r"Uid:\t10001\t10001\t10001\t10001", status)
        assert "NoNewPrivs:\t1" in status
        # The token is in no list of processes, in no variable and in no log.
        said = (process / "cmdline").read_text() + (process / "environ").read_text()
        assert "LUDUS_SERVE_TOKEN_FILE" in said
        for text in (said, json.dumps(state), logs(container)):
            assert TOKEN not in text
        began = time.monotonic()
        run("stop", "--time=60", container)
        assert inspected(container)["State"]["ExitCode"] == 0, logs(container)
        assert time.monotonic() - began < 60


def test_serve_takes_the_token_of_a_variable(images):
    with started(images["serve"], options=(f"--env=LUDUS_SERVE_TOKEN={TOKEN}",)) as container:
        told = ask(container)
        assert told["metrics"] == [401, 401, 200]
        assert_equals_local(told["episode"])
        pid = inspected(container)["State"]["Pid"]
        assert TOKEN not in Path(f"/proc/{pid}/cmdline").read_text()
        assert TOKEN not in logs(container)


def assert_equals_local(episode):
    """Observations and rewards are those of the same environment here."""
    env = ludus.make("CartPole-v1")
    expected = [(env.reset(seed=7)[0].tolist(), None)]
    for action in (0, 1, 1):
        observation, reward, *_ = env.step(np.int64(action))
        expected.append((observation.tolist(), reward))
    assert [message["type"] for message in episode] == ["observation"] * 4
    answers = [message["data"] for message in episode]
    assert [(one["observation"]["observation"], one["reward"]) for one in answers] == expected


def test_a_research_task_needs_sandboxes_in_the_container(images, token_file):
    """They run with two settings less, and see neither the token nor the graders."""
    secret = (
        f"--volume={token_file}:/run/secrets/token:ro",
        "--env=LUDUS_SERVE_TOKEN_FILE=/run/secrets/token",
    )
    words = ("research/battleOfSexes", "--kwarg", 'policy={"memory": null, "cpus": null}')
    with started(images["serve"], *words, options=secret) as container:
        [refused, *_] = ask(container, "research")["answers"]
        assert refused["type"] == "error"
        assert "bubblewrap" in refused["data"]["message"]
    more = ("--security-opt=unmask=ALL", "--security-opt=seccomp=unconfined")
    with started(images["serve"], *words, options=(*secret, *more)) as container:
        reset, looked, validated = ask(container, "research")["answers"]
        assert reset["type"] == "observation"
        output = looked["data"]["observation"]["output"]
        assert output.startswith("1000\n"), output
        assert TOKEN not in json.dumps(looked)
        assert "score" in validated["data"]["observation"]["output"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--env=X=1", "Set a token"),
        ("--env=LUDUS_SERVE_TOKEN=short", "at least 16"),
        ("--env=LUDUS_SERVE_TOKEN_FILE=/run/secrets/none", "cannot be read"),
        ("--env=LUDUS_SERVE_TOKEN_FILE=/etc/shadow", "cannot be read"),
    ],
)
def test_serve_does_not_begin_without_a_token(images, option, said):
    """Everybody who reaches the container could use it."""
    words = ("run", "--rm", *HARDENED, option, images["serve"], "CartPole-v1")
    done = run(*words, check=False)
    assert done.returncode == 2
    assert said in " ".join((done.stdout + done.stderr).split())


def test_what_is_served_is_named_at_the_end(images):
    """The words after the image replace what is served by default, and may be options."""
    options = (f"--env=LUDUS_SERVE_TOKEN={TOKEN}",)
    with started(images["serve"], "CartPol-v1", options=options) as container:
        run("wait", container)
        assert "`CartPole`" in logs(container)
        assert inspected(container)["State"]["ExitCode"] != 0
