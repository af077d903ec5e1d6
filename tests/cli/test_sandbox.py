"""``ludus sandbox``."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from ludus.cli.app import app
from ludus.sandbox import backends
from tests.sandbox.egress.servers import serving

run = CliRunner().invoke
boxed = pytest.mark.skipif(
    backends()["bubblewrap"] is not None, reason=f"bubblewrap: {backends()['bubblewrap']}"
)


def ludus(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "ludus", "sandbox", *arguments], capture_output=True, timeout=60
    )


def test_doctor_names_every_backend():
    result = run(app, ["sandbox", "doctor"])
    for backend in ("bubblewrap", "podman", "docker", "process"):
        assert backend in result.output
    works = any(reason is None for name, reason in backends().items() if name != "process")
    assert result.exit_code == (0 if works else 1)


def test_sweep_says_what_it_did():
    assert "boxes removed" in run(app, ["sandbox", "sweep"]).stderr


@boxed
def test_a_program_runs_in_a_box():
    done = ludus("run", "--memory", "64M", "--", "sh", "-c", "id -un; echo no >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"agent\n", b"no\n")


@boxed
def test_options_after_the_program_are_its_own():
    done = ludus("run", "echo", "--timeout", "0.001")
    assert (done.returncode, done.stdout) == (0, b"--timeout 0.001\n")


@boxed
def test_a_terminal_is_shown_control_characters_and_a_pipe_is_sent_them():
    """A program in a sandbox could otherwise drive the terminal of whoever started it."""
    program = ["run", "--", "printf", r"\033[2J\007hello"]
    assert ludus(*program).stdout == b"\x1b[2J\x07hello"
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "ludus", "sandbox", *program]
    assert subprocess.run(command, stdout=follower, timeout=60).returncode == 0
    os.close(follower)
    assert os.read(leader, 4096) == rb"\x1b[2J\x07hello"
    os.close(leader)


@boxed
def test_a_program_that_takes_too_long_is_killed():
    assert ludus("run", "--timeout", "0.3", "--", "sleep", "60").returncode == 137


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--memory", "lots", "--", "true"], b"lots"),
        (["run", "--backend", "cardboard", "--", "true"], b"cardboard"),
        (["run", "--network", "none", "--", "true"], b"--network"),
    ],
)
def test_wrong_calls(arguments, words):
    done = ludus(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


@boxed
def test_egress_is_allowed_by_name_and_told():
    with serving() as server:
        local = f"127.0.0.1:{server.port}"
        words = ("--egress", local, "--", "curl", "-sS")
        done = ludus("run", *words, f"http://{local}/")
        assert (done.returncode, done.stdout) == (0, b"hello\n"), done.stderr
        assert f"egress: {local} 1 connections".encode() in done.stderr
        done = ludus("run", *words, "http://example.org/")
        assert b"not on the allow-list" in done.stdout + done.stderr
    done = ludus("run", "--egress", "http://pypi.org", "--", "true")
    assert done.returncode == 2
    assert b"HOST:PORT" in done.stderr
