"""Stops shells to which no command was sent for a few milliseconds.

Signals before and after each command would slow down every round trip. A thread that stops the
shell a little later does not.
"""

from __future__ import annotations

import os
import threading
import time
from functools import cache
from typing import Protocol

__all__ = ["REST_AFTER", "Resting", "resting"]

REST_AFTER = 0.02
"""Seconds without a command after which a shell is stopped; it may take twice as long."""

_PATIENCE = 1.0


class Restable(Protocol):
    """A shell, as far as the thread is concerned."""

    def rest(self, since: float) -> None:
        """Stop it, unless a command runs or ended after ``since`` on the monotonic clock."""


class Resting:
    """One thread for all shells of a process; it runs from their first command to their end."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._shells: set[Restable] = set()
        self._awake: set[Restable] = set()
        self._work, self._ended = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def open(self, shell: Restable) -> None:
        """Add a shell."""
        with self._guard:
            self._shells.add(shell)

    def close(self, shell: Restable) -> None:
        """Remove a shell; the thread ends with the last one. Doing so twice is harmless."""
        with self._guard:
            self._shells.discard(shell)
            if self._shells or self._thread is None:
                return
            self._ended.set()
            self._work.set()
            thread, self._thread = self._thread, None
            self._work, self._ended = threading.Event(), threading.Event()
        thread.join(_PATIENCE)

    def after_command(self, shell: Restable) -> None:
        """Have a shell stopped soon, unless its next command comes first."""
        self._awake.add(shell)
        if not self._work.is_set():
            self._wake()

    def _wake(self) -> None:
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run,
                    args=[self._work, self._ended],
                    name="ludus-sandbox-shells",
                    daemon=True,
                )
                self._thread.start()
            self._work.set()

    def _run(self, work: threading.Event, ended: threading.Event) -> None:
        while True:
            work.wait()
            # Cleared first: whoever ends a command from here on sets it again.
            work.clear()
            awake = []
            while self._awake:
                awake.append(self._awake.pop())
            if ended.wait(REST_AFTER):
                return
            since = time.monotonic() - REST_AFTER
            for shell in awake:
                shell.rest(since)


def resting() -> Resting:
    """Return what stops the shells of this process."""
    return _resting_of(os.getpid())


@cache
def _resting_of(owner: int) -> Resting:  # noqa: ARG001 - what is kept is kept by it
    """Return what stops the shells of a process; a forked one has its own thread."""
    return Resting()
