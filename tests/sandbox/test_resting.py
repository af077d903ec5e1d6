"""Shells are stopped by a thread that lives as long as they do."""

from __future__ import annotations

import threading
import time

from ludus.sandbox import Policy, open_sandbox
from ludus.sandbox.resting import Resting
from tests.sandbox.support import needs

NAME = "ludus-sandbox-shells"


class Recorder:
    def __init__(self) -> None:
        self.rested = threading.Event()
        self.since = 0.0

    def rest(self, since: float) -> None:
        self.since = since
        self.rested.set()


def test_the_thread_begins_and_ends_with_shells_again_and_again() -> None:
    resting = Resting()
    for _ in range(3):
        shells = [Recorder(), Recorder()]
        for shell in shells:
            resting.open(shell)
        for shell in shells * 2:
            began = time.monotonic()
            shell.rested.clear()
            resting.after_command(shell)
            assert shell.rested.wait(10)
            assert shell.since >= began
        resting.close(shells[0])
        resting.close(shells[0])
        resting.after_command(shells[1])
        assert shells[1].rested.wait(10)
        before = threading.active_count()
        resting.close(shells[1])
        assert threading.active_count() == before - 1


@needs("bubblewrap")
def test_the_thread_ends_with_the_last_shell() -> None:
    before = set(threading.enumerate())
    with open_sandbox(Policy(memory=None, cpus=None)) as box:
        first, second = box.shell(), box.shell()
        for shell in (first, second):
            assert shell.run("x=1; echo $x").text == "1\n"
        made = [t for t in threading.enumerate() if t.name == NAME and t not in before]
        assert len(made) == 1
        first.close()
        # Stopped by what else is done with the sandbox, it goes on with its next command.
        box.write_bytes("y", b"2")
        assert second.run("echo $x$(cat y)").text == "12\n"
        second.close()
        assert not made[0].is_alive()


@needs("bubblewrap")
def test_a_shell_that_keeps_its_background_is_not_stopped() -> None:
    with open_sandbox(Policy(memory=None, cpus=None)) as box, box.shell() as shell:
        shell.run("echo 0 > n; trap 'echo 1 > n' USR2")
        # Only a shell that runs can take a signal.
        shell.run("(sleep .3; kill -USR2 1) &", keep_background=True)
        for _ in range(100):
            if box.read_bytes("n") == b"1\n":
                break
            time.sleep(0.1)
        assert box.read_bytes("n") == b"1\n"
