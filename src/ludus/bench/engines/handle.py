"""One worker process, seen from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ludus.bench.engines.worker import LENGTH
from ludus.foreign_files import open_to_append

__all__ = ["WorkerHandle"]

_START = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from ludus.bench.engines.worker import main; sys.exit(main(sys.argv[1:]))"
)
_MOST_BYTES = 2**30
_CHUNK = 1 << 20


class WorkerHandle:
    """Starts a worker, sends it jobs, takes its answers, and ends it.

    Args:
        log: A file that its output is added to.
        owner: Whose code it runs.

    Attributes:
        owner: Whose code it runs.
        is_trusted: Whether it has run no code but Ludus's own.
        answers: The descriptor that its answers come from.
        busy_since: When it got its job.
        playing_since: When the agent's time began, if it has.
        answer: What it has answered, if it has.
    """

    def __init__(self, log: Path | None, owner: str) -> None:
        self.owner, self.is_trusted = owner, True
        jobs, self._jobs = os.pipe()
        self.answers, answers = os.pipe()
        self._content = os.memfd_create("ludus-job")
        # Not -m: that would load modules from the working directory first, and an agent can put
        # a json.py there.
        words = [sys.executable, "-P", "-c", _START, str(Path(__file__).parents[3])]
        words += map(str, (jobs, answers, self._content, os.getpid()))
        # The same text gives the same order of sets in every worker, and one thread each is
        # what as many workers as processors can use.
        settings = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONHASHSEED": "0"}
        with contextlib.ExitStack() as opened:
            output: Any = subprocess.DEVNULL
            if log is not None:
                output = opened.enter_context(os.fdopen(open_to_append(log), "ab"))
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=settings,
                pass_fds=(jobs, answers, self._content),
                # Its own group: killing it kills what it started, and Ctrl-C does not reach it.
                start_new_session=True,
            )
        os.close(jobs)
        os.close(answers)
        os.set_blocking(self.answers, False)
        os.set_blocking(self._jobs, False)
        self._received = bytearray()
        self._is_open, self._hung_up = True, False
        self.busy_since = time.monotonic()
        self.playing_since: float | None = None
        self.answer: dict[str, Any] | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, job: Any) -> None:
        """Send a job; a worker that is dead or stopped is noticed later.

        The job is in a file and only its length goes through the pipe: the agent can stop the
        process, and writing more than a pipe holds would wait for it forever.
        """
        from cloudpickle import dumps

        self.busy_since, self.playing_since, self.answer = time.monotonic(), None, None
        # The path first: what the job is made of may be found nowhere else.
        data = dumps((list(sys.path), dumps(job)))
        os.ftruncate(self._content, 0)
        done = 0
        while done < len(data):
            done += os.pwrite(self._content, memoryview(data)[done:], done)
        try:
            os.write(self._jobs, LENGTH.pack(len(data)))
        except (BrokenPipeError, BlockingIOError):
            self._hung_up = True

    def receive(self) -> None:
        """Take what has arrived."""
        while True:
            try:
                chunk = os.read(self.answers, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                self._hung_up = True
                break
            self._received += chunk
            if len(self._received) > _MOST_BYTES:
                self._received.clear()
                self.answer = {"fault": "the worker wrote more than a result is long"}
                break
        *lines, rest = self._received.split(b"\n")
        self._received = bytearray(rest)
        for line in lines:
            self._read(bytes(line))

    def take(self) -> dict[str, Any]:
        """Return the answer, and be ready for the next job."""
        answer, self.answer = self.answer or {}, None
        return answer

    def has_ended(self) -> bool:
        """Tell whether the process is gone, or will never say anything more."""
        # Not waited for yet: as long as it is not, nobody else gets its number, and its group can
        # be killed by it.
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        running = self._is_open and os.waitid(os.P_PID, self._process.pid, flags) is None
        if running and not self._hung_up:
            return False
        self.receive()
        return self.answer is None

    def was_killed(self) -> bool:
        """Tell whether a signal ended the process; asked after :meth:`kill`."""
        return (self._process.returncode or 0) < 0

    def ending(self) -> str:
        """Say how the process ended; asked after :meth:`kill`."""
        code = self._process.returncode
        if code is None or code >= 0:
            return f"ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")

    def kill(self) -> None:
        """Kill the process and what it started, and wait for its end."""
        if not self._is_open:
            return
        self._is_open = False
        # Its group may live on without it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for descriptor in (self._jobs, self.answers, self._content):
            os.close(descriptor)

    def _read(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            message = {"fault": "the worker wrote something that is no answer"}
        if "playing" in message:
            # Only the first time: the agent may write this too, to prolong its time.
            self.playing_since = self.playing_since or time.monotonic()
            self.is_trusted = self.is_trusted and not self.owner
        else:
            self.answer = message
