"""After a sweep nothing of a shell's commands runs, whatever they do against it."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import Policy, open_sandbox
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap", root=True)

# What is to kill everything is killed before.
KILL_FIRST = "while :; do kill -KILL -1; done & disown"


@pytest.fixture
def box():
    with open_sandbox(Policy(memory="256M", pids=64)) as box:
        yield box


@contextmanager
def held_space(pid: int) -> Iterator[os.stat_result]:
    """Yield the process namespace of a process; held, its number is given to no later one."""
    with Path(f"/proc/{pid}/ns/pid").open("rb") as space:
        yield os.fstat(space.fileno())


def space_of(shell) -> AbstractContextManager[os.stat_result]:
    """Return the process namespace of a shell, which is the first process of it."""
    return held_space(shell._job._find_space(1.0).first_pid())


def running(space: os.stat_result) -> list[str]:
    """Return the states of the processes in a namespace that could still do something."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and os.path.samestat((process / "ns/pid").stat(), space):
                found.append((process / "stat").read_text().rpartition(")")[2].split()[0])
    return [state for state in found if state not in "TZX"]


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """Have every attempt to open a file fail."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_sweep_prevails_over_who_kills_what_is_to_kill_it(box):
    with box.shell() as shell, space_of(shell) as space:
        shell.run("x=here")
        shell.run(KILL_FIRST, keep_background=True, timeout=5)
        assert running(space)
        shell.sweep()
        assert running(space) == []
        after = shell.run("echo [$x]", timeout=20)
        # The shell is as it was, or else the result says why not.
        lost = "this command ran in a fresh one" in after.note
        assert after.text == ("[]\n" if lost else "[here]\n")
        assert shell.run("echo fine").note == ""


@pytest.mark.parametrize("command", [KILL_FIRST, "for i in {1..40}; do while :; do :; done & done"])
def test_a_command_that_is_out_of_time_has_ended_with_all_it_started(box, command):
    with box.shell() as shell, space_of(shell) as space:
        done = shell.run(f"{command}; while :; do :; done", timeout=0.5)
        assert done.timed_out
        assert running(space) == []
        assert shell.run("echo fine", timeout=20).text == "fine\n"


def test_the_end_of_a_namespace_is_that_of_all_its_processes(box):
    with box.shell() as shell, space_of(shell) as space:
        crowd = "for i in {1..40}; do while :; do :; done & done"
        shell.run(crowd, keep_background=True, timeout=20)
        assert len(running(space)) > 30
        shell._job._space.end()
        assert running(space) == []


def test_a_sweep_that_cannot_be_done_says_so_and_ends_the_shell(box):
    with box.shell() as shell:
        shell.run("sleep 60 & disown", keep_background=True)
        # Of the sandbox's processes the latest: the sweep is to be the first to look for the shell.
        with held_space(max(box._group.members())) as space:
            with no_descriptors_left(), pytest.raises(SandboxError, match="Close the sandbox"):
                shell.sweep()
            until = time.monotonic() + 20
            while running(space) and time.monotonic() < until:
                time.sleep(0.01)
            assert running(space) == []
        assert shell.run("echo fine", timeout=20).text == "fine\n"
