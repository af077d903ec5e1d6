"""A worker process: started, asked and stopped by the server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, cast

from ludus.view.replaying.limits import WorkerLimits, worker_environment
from ludus.view.replaying.messages import Message, WorkerFailed, read_message, write_message

__all__ = ["Child"]


class Child:
    """A process that answers one request at a time.

    Args:
        module: Its main module, which serves with :func:`ludus.view.replaying.serving.serve`.
        order: The first message: what the process is for.
        limits: What it may use. Beyond its memory it fails; beyond its time it is killed.
    """

    def __init__(self, module: str, order: Mapping[str, Any], limits: WorkerLimits) -> None:
        self.limits = limits
        self.used = time.monotonic()
        """When it was last asked."""
        self._lock = threading.RLock()
        self._waiting = 0
        self._process = subprocess.Popen(  # noqa: S603, our own module
            # Not from the current folder: it may be one of runs, and what is in it anybody's.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=worker_environment(),
        )
        self._requests = cast(BinaryIO, self._process.stdin)
        self._answers = cast(BinaryIO, self._process.stdout)
        given = {"memory": limits.memory, "cpu_seconds": limits.cpu_seconds}
        # A process that ends at once is noticed with the first request.
        with contextlib.suppress(OSError):
            write_message(self._requests, {**order, "limits": given})

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    @property
    def is_busy(self) -> bool:
        """Whether somebody has reserved it or waits for that."""
        return self._waiting > 0

    @contextlib.contextmanager
    def reserved(self) -> Iterator[None]:
        """Keep other threads from asking."""
        self._waiting += 1
        try:
            with self._lock:
                yield
        finally:
            self._waiting -= 1

    def ask(self, request: Mapping[str, Any]) -> Message:
        """Return the answer to a request.

        Raises:
            WorkerFailed: There is none, or it took too long; the process is then stopped.
        """
        with self.reserved():
            self.used = time.monotonic()
            late = threading.Event()
            timer = threading.Timer(self.limits.request_seconds, self._kill, (late,))
            timer.daemon = True
            timer.start()
            try:
                write_message(self._requests, request)
                answer = read_message(self._answers)
            except (OSError, ValueError) as problem:  # ValueError: it was closed meanwhile
                raise WorkerFailed(self._ending(late)) from problem
            finally:
                timer.cancel()
                self.used = time.monotonic()
            if answer is None or late.is_set():
                raise WorkerFailed(self._ending(late))
            return answer

    def _ending(self, late: threading.Event) -> str:
        if late.is_set():
            return f"The worker process took more than {self.limits.request_seconds:g} s."
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        code = self._process.returncode
        return (
            f"The worker process ended with exit code {code}. It may use "
            f"{self.limits.memory / 2**20:.0f} MiB of memory and {self.limits.cpu_seconds} s of "
            "processor time."
        )

    def _kill(self, late: threading.Event | None = None) -> None:
        if late is not None:
            late.set()
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop the process and its children, and wait for its end."""
        self._kill()
        self._process.wait()
        for stream in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                stream.close()
