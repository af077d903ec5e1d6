"""Waiting for the other side: spin while the answer is near, sleep when it is not.

Waking a sleeping process costs tens of microseconds, more than many environments take to step;
spinning through a long wait takes the processor from the one who is waited for. Each side
therefore keeps a running mean of its waits and spins only while these are short.
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
        share_cpu: Give the processor away between two looks, for when there are more processes
            than processors.
    """

    def __init__(self, context: Any, *, share_cpu: bool) -> None:
        self._semaphore = context.Semaphore(0)
        self._share_cpu = share_cpu
        self._mean_wait = SPIN_SECONDS / 2

    def send(self) -> None:
        """Wake the waiting side, now or when it next waits."""
        self._semaphore.release()

    def wait(self, timeout: float | None) -> bool:
        """Return ``True`` once a signal came, ``False`` after ``timeout`` seconds without."""
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
            # Cut off, so that one long wait among short ones does not put an end to spinning: a
            # process that sleeps may wake up on a processor that is taken.
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
