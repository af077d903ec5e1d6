"""What the Dockerfile says. That the images can be built and run is tested in test_images.py."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.main import get_command

from ludus.cli.app import app
from tests.containers.recipe import ROOT, global_arguments, read_stages

IMAGES = ("ludus", "serve")
STAGES = read_stages()
TOKEN = "a-token-of-thirty-two-characters"


def pins(name):
    found = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
    return {canonicalize_name(package): version for package, version in found}


def test_the_base_is_one_image():
    assert {stage.base for stage in STAGES.values()} <= {"${BASE}", *STAGES}
    assert re.fullmatch(
        r"docker\.io/library/debian:\d+\.\d+-slim@sha256:[0-9a-f]{64}", global_arguments()["BASE"]
    )


def test_the_targets_are_the_last_stages():
    assert tuple(STAGES)[-2:] == IMAGES
    assert STAGES["serve"].base == "ludus"
    # What `docker build` without --target makes.
    assert [*STAGES][-1] == "serve"


def test_the_images_have_a_user_without_rights():
    """By number, which clusters can check; and nothing runs as root after it is set."""
    lines = STAGES["ludus"].lines
    users = [place for place, (word, _) in enumerate(lines) if word == "USER"]
    assert [rest for word, rest in lines if word == "USER"] == ["10001:10001"]
    assert not [word for word, _ in lines[users[0] :] if word in ("RUN", "COPY", "ADD")]
    assert {"RUN", "COPY", "ADD", "USER"}.isdisjoint(word for word, _ in STAGES["serve"].lines)


def test_what_is_copied_is_what_the_builder_gets():
    """Nothing else of the folder can come into an image: no keys, no runs, no history."""
    patterns = (ROOT / ".dockerignore").read_text().splitlines()
    patterns = [line for line in patterns if line and not line.startswith("#")]
    assert patterns[0] == "*"
    let_in = {line[1:] for line in patterns if line.startswith("!")}
    copied = set()
    for stage in STAGES.values():
        assert not stage.all("ADD")
        for rest in stage.all("COPY"):
            *sources, _ = shlex.split(rest)
            if not rest.startswith("--from=build "):
                copied |= {*sources}
    assert copied == {"${LOCK}", "LICENSE", "README.md", "pyproject.toml", "src"}
    assert let_in == {*copied - {"${LOCK}"}, "requirements*.lock"}
    # The package's metadata names these files.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {project["readme"], *project["license-files"]} <= copied


def test_nothing_but_the_environment_leaves_the_builder():
    copied = [rest for name in IMAGES for rest in STAGES[name].all("COPY")]
    assert copied == ["--from=build /opt/ludus /opt/ludus"]
    for name in ("python", *IMAGES):
        said = " ".join(rest for _, rest in STAGES[name].lines)
        assert not re.search(
            r"\b(gcc|g\+\+|make|build-essential|python3-venv|pip|curl|git)\b", said
        )


def test_every_file_of_a_package_is_compared_with_its_hash():
    installs = [rest for rest in STAGES["build"].all("RUN") if "${PIP} install" in rest]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "--only-binary :all:" in installs[0]
    assert "--no-index" in installs[1]


def test_no_secret_is_an_argument_or_a_variable():
    """Both can be read in the image's history; files of `RUN --mount=type=secret` cannot."""
    for stage in STAGES.values():
        for rest in (*stage.all("ARG"), *stage.all("ENV")):
            assert not re.search(r"(?i)token|password|secret_?key|api_?key|index_url", rest)
    mounts = re.findall(r"--mount=type=secret,(\S+)", "\n".join(STAGES["build"].all("RUN")))
    assert mounts == ["id=pip", "id=ca"]


def test_the_lock_is_that_of_the_project():
    """The same versions as requirements.lock has, and all that the extras of the image ask for."""
    default = dict(rest.split("=", 1) for rest in STAGES["build"].all("ARG"))["LOCK"]
    image, everything = pins(default), pins("requirements.lock")
    assert image.items() <= everything.items()
    makefile = (ROOT / "Makefile").read_text()
    extras = re.search(r"^IMAGE_EXTRAS := (.*)$", makefile, re.MULTILINE)[1].split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"serve", *extras} <= {*project["optional-dependencies"]}
    assert "serve" in extras
    # What is under the GPL is installed by who asks for it.
    assert not {"ale-py"} & {*image}
    wanted = [*project["dependencies"]]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    for requirement in map(Requirement, wanted):
        version = image[canonicalize_name(requirement.name)]
        assert version in requirement.specifier, requirement
    # What only builds is removed, and is in the lock, so that it has hashes.
    removed = re.search(r"uninstall --yes ([\w -]+)", " ".join(STAGES["build"].all("RUN")))
    assert {*removed[1].split()} <= {*image}


def test_the_commands_are_there():
    """Entry points and their defaults are parsed as the command line does."""
    command = get_command(app)
    for name in IMAGES:
        program, *words = STAGES[name].words("ENTRYPOINT")
        assert program == "ludus"
        if name == "ludus":
            assert (words, STAGES[name].words("CMD")) == ([], ["--help"])
            continue
        group, *rest = [*words, *STAGES[name].words("CMD")]
        context = command.commands[group].make_context(group, rest)
        told = context.params
        assert (told["host"], told["port"], told["names"]) == ("0.0.0.0", 8000, ["CartPole-v1"])
        assert STAGES[name].all("EXPOSE") == [str(told["port"])]


@pytest.fixture
def server(tmp_path):
    """A server on a free port, with a token in a file as the images have it."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    argv = [sys.executable, "-m", "ludus", "serve", "CartPole-v1", "--port", "0"]
    argv += ["--token-file", str(tmp_path / "token")]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = process.stdout.readline()
        yield process, int(re.search(r"127\.0\.0\.1:(\d+)", line)[1])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stdout.close()


def test_the_health_check_asks_the_server(server):
    """It needs no token, and fails when nothing answers."""
    process, port = server
    python, *words = STAGES["serve"].words("HEALTHCHECK")
    assert python == "python3"
    assert words[-1].count("8000") == 1
    argv = [sys.executable, *words[:-1], words[-1].replace("8000", str(port))]
    assert subprocess.run(argv, timeout=30).returncode == 0
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert subprocess.run(argv, timeout=30, stderr=subprocess.DEVNULL).returncode != 0
