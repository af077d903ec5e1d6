"""Breaking things on purpose: who is killed, when, and by whom."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from ludus.errors import SandboxError
from ludus.research.grading import sandboxes

SLOW = """
import time
from pathlib import Path

def {function}:
    Path("begun").touch()
    time.sleep(0.5)
    return {result}
"""
SLOW_CODE = SLOW.format(function="guess(low, high, answers)", result=7)
SLOW_GRADER = SLOW.format(
    function="grade(submission, labels, seed, split)",
    result="float(submission.code('guess.py').call('guess', 0, 9, []))",
)


def wait_for(condition, seconds=20.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "It did not happen in time."
        time.sleep(0.005)


def has_begun(box):
    """Whether a program in a box has written the file that says so."""
    try:
        box.read_bytes("begun", 10)
    except SandboxError:
        return False
    return True


def supervisors(box):
    """Return what holds the programs of a box, and cannot be reached from within it."""
    if box.backend == "bubblewrap":
        return [job.child.pid for job in tuple(box._jobs)]
    lines = Path(f"/proc/self/fdinfo/{box._process}").read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("Pid:")]


def kill(pids):
    """Kill processes; one that ends with another that was killed before it is fine."""
    assert pids
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def meanwhile(action):
    """Do something in a thread; what it raises is raised here."""
    problems = []

    def run():
        try:
            action()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    for problem in problems:
        raise problem


class Killer:
    """Kills what holds the program of a grading's box, once it says that it has begun."""

    def __init__(self, monkeypatch, label, times):
        self.killed, self._threads = 0, []
        original = sandboxes.open_sandbox

        def opened(*args, **kwargs):
            box = original(*args, **kwargs)
            if kwargs["label"] == label and len(self._threads) < times:
                self._threads.append(threading.Thread(target=self._kill, args=(box,)))
                self._threads[-1].start()
            return box

        monkeypatch.setattr(sandboxes, "open_sandbox", opened)

    def _kill(self, box):
        wait_for(lambda: has_begun(box))
        kill(supervisors(box))
        self.killed += 1

    def join(self):
        for thread in self._threads:
            thread.join()
