"""Who ended a command: itself, its caller, or somebody who reached in from outside."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import Policy, open_sandbox
from tests.sandbox.support import needs

pytestmark = needs("bubblewrap", root=True)


@pytest.fixture
def box():
    with open_sandbox(Policy(memory="128M"), backend="bubblewrap") as box:
        yield box


def kill_once_begun(box, pids):
    def run():
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                box.read_bytes("begun", 10)
                break
            except SandboxError:
                time.sleep(0.005)
        for pid in pids():
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_what_is_killed_from_outside_says_so(box):
    with box.shell() as shell:
        thread = kill_once_begun(box, lambda: [job.child.pid for job in tuple(box._jobs)])
        done = shell.run("touch begun; sleep 60", timeout=30)
        thread.join()
        assert (done.cut_off, done.returncode, done.timed_out) == (True, 137, False)
        assert "outside" in done.note
        after = shell.run("cat begun; echo fine")
        assert (after.text, after.cut_off) == ("fine\n", False)


def test_a_job_knows_it_too(box):
    job = box.spawn(["sleep", "60"])
    assert not job.was_cut_off
    os.kill(job.child.pid, signal.SIGKILL)
    assert job.wait(10.0) == 137
    assert job.was_cut_off
    assert box._was_cut_off(job)
    job.close()


@pytest.mark.parametrize(
    "command",
    [
        "exit 137",
        "kill -9 -1; exec sh -c 'kill -9 $$'",
        "exec python3 -c 'import os; os.kill(1, 9); os.kill(os.getpid(), 9); os._exit(137)'",
        "exec python3 -c 'a = [bytearray(1 << 24) for n in range(99)]'",
    ],
)
def test_what_ends_by_itself_is_not_cut_off(box, command):
    with box.shell() as shell:
        done = shell.run(command, timeout=30)
        assert not done.cut_off
        assert shell.run("echo fine").text == "fine\n"


def test_what_its_caller_ends_is_not_cut_off(box):
    with box.shell() as shell:
        done = shell.run("trap '' USR1 INT; sleep 60", timeout=0.2)
        assert (done.timed_out, done.cut_off) == (True, False)
    job = box.spawn(["sleep", "60"])
    job.close()
    assert not job.was_cut_off
