"""Threads that share the environments of a batch."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise

__all__ = ["Team"]


class Team:
    """The calling thread and ``num_threads - 1`` others, with a piece of the work for each.

    Whoever is awake takes the next piece. More and smaller ones would even out that the others wake
    up late, but each costs a turn at Python's lock, which takes longer still.

    Args:
        num_threads: How many threads work.
        n: How many environments there are.

    Raises:
        ValueError: ``num_threads`` is not a positive int.
    """

    def __init__(self, num_threads: int, n: int) -> None:
        if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
            raise ValueError(f"num_threads must be a positive int, got {num_threads!r}.")
        self._pieces = list(pairwise(n * k // num_threads for k in range(num_threads + 1)))
        self.size = num_threads
        self._pool = _Pool(num_threads - 1) if num_threads > 1 else None

    def run(self, work: Callable[[int, int], int]) -> int:
        """Call ``work(first, last)`` for every piece; return the sum, or the lowest if negative."""
        pieces = iter(self._pieces)
        if self._pool is None:
            return _work_off(pieces, work)[1]
        self._pool.step_aside()
        helping = [self._pool.submit(_work_off, pieces, work) for _ in range(self.size - 1)]
        results = [_work_off(pieces, work)]
        results += [helper.result() for helper in helping if not helper.cancel()]
        lowest = min(low for low, _ in results)
        return lowest if lowest < 0 else sum(total for _, total in results)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


class _Pool(ThreadPoolExecutor):
    """Threads that keep off the processor of the one who calls.

    A thread is woken where its caller runs, and the kernel takes milliseconds to move it away; the
    work is done by then, one piece after the other.
    """

    def __init__(self, count: int) -> None:
        self._threads_here: list[int] = []
        self._avoided = -1
        super().__init__(count, initializer=self._enter)
        self._processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        self._locate = getattr(ctypes.CDLL(None), "sched_getcpu", None)

    def _enter(self) -> None:
        self._threads_here.append(threading.get_native_id())
        self._avoided = -1

    def step_aside(self) -> None:
        """Move the threads off the caller's processor, if it is another one than last time."""
        if len(self._processors) < 2 or self._locate is None:
            return
        processor = self._locate()
        if processor == self._avoided:
            return
        others = self._processors - {processor}
        for thread in self._threads_here:
            # A thread that is gone, or a rule against it: then it stays where it is.
            with suppress(OSError):
                os.sched_setaffinity(thread, others)
        self._avoided = processor


def _work_off(
    pieces: Iterator[tuple[int, int]], work: Callable[[int, int], int]
) -> tuple[int, int]:
    """Take pieces until none is left; return the lowest result and the sum."""
    lowest = total = 0
    for first, last in pieces:
        count = work(first, last)
        lowest, total = min(lowest, count), total + count
    return lowest, total
