"""Verifications that were started from a page: one at a time, in a child process with limits."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ludus.errors import Error
from ludus.view.replaying.limits import worker_environment

__all__ = ["Busy", "State", "VerificationJob", "Verifications"]

State = Literal["running", "passed", "failed", "unchecked", "stopped"]
_LONGEST = 200_000
_MEMORY = 2**32
_SECONDS = 1800.0
_KEPT = 50
_ENDINGS: dict[int, State] = {0: "passed", 1: "failed", 2: "unchecked"}


class Busy(Error):
    """Another verification is running."""


@dataclass(slots=True)
class VerificationJob:
    """One verification.

    Attributes:
        name: Of the run or record, in addresses.
        began: In seconds since the epoch.
        output: What the command has printed, up to a limit.
        state: Whether it runs, and how it ended.
        seconds: How long it has taken.
    """

    name: str
    began: float
    output: str = ""
    state: State = "running"
    seconds: float = 0.0


class Verifications:
    """Starts ``ludus bench verify`` and ``ludus verify``.

    Args:
        seconds: After which one is stopped.
    """

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._jobs: OrderedDict[str, VerificationJob] = OrderedDict()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, name: str, arguments: Sequence[str]) -> None:
        """Start a verification with arguments of ``ludus``.

        Raises:
            Busy: Another one is running.
        """
        with self._lock:
            if self._process is not None:
                raise Busy("Another verification is running; wait until it has ended.")
            cpu_seconds = str(int(self._seconds) + 1)
            command = [sys.executable, "-P", "-m", "ludus.view.replaying.limited", str(_MEMORY)]
            self._process = subprocess.Popen(  # noqa: S603, a command of Ludus
                [*command, cpu_seconds, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**worker_environment(), "COLUMNS": "110", "NO_COLOR": "1"},
            )
            job = VerificationJob(name, time.time())
            self._jobs.pop(name, None)
            self._jobs[name] = job
            while len(self._jobs) > _KEPT:
                self._jobs.popitem(last=False)
            threading.Thread(target=self._follow, args=(job, self._process), daemon=True).start()

    def job(self, name: str) -> VerificationJob | None:
        """Return the latest verification of a run or record."""
        return self._jobs.get(name)

    def close(self) -> None:
        """Stop the verification that is running."""
        with self._lock:
            if self._process is not None:
                _kill(self._process)

    def _follow(self, job: VerificationJob, process: subprocess.Popen[bytes]) -> None:
        """Collect the output until the process ends, or its time is over."""
        began = time.monotonic()
        timer = threading.Timer(self._seconds, _kill, (process,))
        timer.daemon = True
        timer.start()
        try:
            stream = process.stdout
            while stream is not None and (part := os.read(stream.fileno(), 8192)):
                job.seconds = time.monotonic() - began
                if len(job.output) < _LONGEST:
                    job.output += part.decode("utf-8", "replace")
        finally:
            timer.cancel()
            code = process.wait()
            if process.stdout is not None:
                process.stdout.close()
            job.seconds = time.monotonic() - began
            job.state = _ENDINGS.get(code, "stopped")
            with self._lock:
                self._process = None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
