"""Signals between processes, with spinning for short waits and sleeping for long ones.

Waking a sleeping process costs tens of microseconds, more than many environments take to step;
spinning for long takes processor time from the other process. Each side therefore keeps a running
mean of its waits and spins only while these are short.
"""

from __future__ import annotations

import os
import time
from typing import Any

__all__ = ["Signal"]

SPIN_SECONDS = 200e-6
"""Longest mean wait for which spinning is worth it."""
YIELD = getattr(os, "sched_yield", lambda: None)


class Signal:
    """One direction of signalling, over a semaphore of a multiprocessing context.

    The semaphore also orders memory: what was written before :meth:`send` is visible after
    :meth:`wait` returned ``True``.

    Args:
        context: A multiprocessing context.
        share_cpu: Yield the processor while spinning, for more processes than processors.
    """

    def __init__(self, context: Any, *, share_cpu: bool) -> None:
        self._semaphore = context.Semaphore(0)
        self._share_cpu = share_cpu
        self._mean_wait = SPIN_SECONDS / 2

    def send(self) -> None:
        """Wake the waiting process, now or when it next waits."""
        self._semaphore.release()

    def wait(self, timeout: float | None) -> bool:
        """Return ``True`` once a signal arrived, ``False`` if none did in ``timeout`` seconds."""
        acquire = self._semaphore.acquire
        if acquire(False):
            return True
        if timeout is not None and timeout <= 0:
            return False
        start = time.perf_counter()
        arrived = False
        if self._mean_wait < SPIN_SECONDS:
            arrived = self._spin(acquire, start + 2 * SPIN_SECONDS)
        if not arrived:
            arrived = acquire(True, timeout)
        if arrived:
            # Clipped, so that one long wait among short ones does not end spinning: a process that
            # sleeps may wake up on a busy processor.
            waited = min(time.perf_counter() - start, 2 * SPIN_SECONDS)
            self._mean_wait += 0.125 * (waited - self._mean_wait)
        return arrived

    def _spin(self, acquire: Any, until: float) -> bool:
        clock = time.perf_counter
        while clock() < until:
            for _ in range(16):
                if acquire(False):
                    return True
                if self._share_cpu:
                    YIELD()
        return False
