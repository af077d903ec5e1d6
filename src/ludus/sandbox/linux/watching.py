"""Limits on memory that the kernel charges to nobody, enforced from outside by killing processes.

A thread checks all sandboxes of this process ten times a second. What a sandbox can hoard between
two checks is bounded by its processor time.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Generic, TypeVar

from ludus.sandbox.linux.cgroup_usage import Gauges

__all__ = ["Bound", "Watch"]

_PERIOD, _PATIENCE = 0.1, 1.0


class Bound:
    """A limit on the sandbox with the control groups ``groups``, until :meth:`close`.

    ``kills`` counts the processes that were killed for it.
    """

    def __init__(self, groups: Gauges) -> None:
        self._groups = groups
        self.kills = 0

    def close(self) -> None:
        """End the limit; doing so twice is harmless."""

    def members(self) -> frozenset[int]:
        """Return the sandbox's processes."""
        return self._groups.members()

    def kill(self, pids: Iterable[int]) -> None:
        """Kill processes, if they are still the sandbox's."""
        for pid in pids:
            with suppress(OSError):
                process = os.pidfd_open(pid)
                try:
                    # Held, the number stays that process's: whose it is can be asked now.
                    if pid in self.members():
                        signal.pidfd_send_signal(process, signal.SIGKILL)
                        self.kills += 1
                finally:
                    os.close(process)


_B = TypeVar("_B", bound=Bound)


class Watch(Generic[_B]):
    """The thread that checks all sandboxes of a process, while there are any.

    Args:
        name: of the thread.
        look: the check, called with the limits of all sandboxes.
    """

    def __init__(self, name: str, look: Callable[[frozenset[_B]], None]) -> None:
        self._name, self._look = name, look
        self._guard = threading.Lock()
        self._bounds: frozenset[_B] = frozenset()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, bound: _B) -> None:
        """Check one more sandbox."""
        with self._guard:
            self._bounds |= {bound}
            if len(self._bounds) == 1:
                self._ended = threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=[self._ended], name=self._name, daemon=True
                )
                self._thread.start()

    def remove(self, bound: _B) -> None:
        """Check one sandbox less; its checks have ended when this returns."""
        thread = None
        with self._guard:
            self._bounds -= {bound}
            if not self._bounds:
                self._ended.set()
                thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_PATIENCE)

    def _run(self, ended: threading.Event) -> None:
        while not ended.wait(_PERIOD):
            # Held meanwhile, since the files that are read must stay open.
            with self._guard, suppress(OSError, ValueError):
                self._look(self._bounds)
