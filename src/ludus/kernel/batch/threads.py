"""Threads that step the environments of a batch in parallel."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ludus.kernel.memory import aligned_zeros

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Board", "Team"]

_PIECE = 2048
"""Environments per piece of shared work: enough to be worth an atomic operation."""
_PATIENCE = 20_000
"""Polls before a thread goes to sleep, less than a millisecond in all: waking it takes as long as
stepping ten thousand environments."""

_NO_PIECE_LEFT = 0xFFFFFFFF


class Team:
    """The calling thread and ``num_threads - 1`` others.

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
        self.n = n
        self._pool = _Pool(num_threads - 1) if num_threads > 1 else None

    def run(self, work: Callable[[int, int], int]) -> int:
        """Call ``work(first, last)`` for a piece per thread.

        Returns:
            The sum of the results, or the lowest if that is negative.
        """
        pieces = iter(self._pieces)
        if self._pool is None:
            return _work_off(pieces, work)[1]
        self._pool.step_aside()
        helping = [self._pool.submit(_work_off, pieces, work) for _ in range(self.size - 1)]
        results = [_work_off(pieces, work)]
        results += [helper.result() for helper in helping if not helper.cancel()]
        lowest = min(low for low, _ in results)
        return lowest if lowest < 0 else sum(total for _, total in results)

    def call(self, work: Callable[..., int]) -> Future[int] | None:
        """Call a function in one of the other threads, if there are any."""
        return None if self._pool is None else self._pool.submit(work)

    @property
    def has_room(self) -> bool:
        """Whether there is a processor for each thread."""
        return self._pool is not None and len(self._pool.processors) >= self.size

    def step_aside(self) -> None:
        """Move the other threads off the caller's processor."""
        if self._pool is not None:
            self._pool.step_aside()

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()


class Board:
    """Divides the native work of a batch among a team, in rounds.

    Args:
        team: The threads.
        function: The function from :meth:`Program.shared`.
        table: The address of the batch's table.
        owner: The object that owns the table and the arrays in it.
    """

    def __init__(self, team: Team, function: Callable[..., int], table: int, owner: Any) -> None:
        self._team = team
        self._numbers = aligned_zeros((8,), np.int64)
        self._numbers[0] = _NO_PIECE_LEFT
        self._round = 0
        pieces = max(min(team.n, team.size), min(team.n // _PIECE, 64 * team.size))
        patience = _PATIENCE if team.has_room else 1
        address = self._numbers.ctypes.data
        where = (pieces, team.n)
        self._work: Callable[[], int] = lambda: function(address, self._round, *where, 0, table)

        def help_out(_kept: Any = (self._numbers, owner)) -> int:
            # A helper polls for a moment after the round, also if the batch is gone by then, so it
            # keeps the memory that it reads.
            return function(address, 0, *where, patience, table)

        self._help: Callable[[], int] = help_out
        self._helping: list[Future[int] | None] = [None] * (team.size - 1)

    def take(self) -> int:
        """Copy and check the actions; return a negative number if one is invalid."""
        return self._run(1)

    def step(self) -> int:
        """Step; return how many episodes are over, or a negative number."""
        return self._run(0)

    @property
    def error(self) -> int:
        """The address of numba's record of an exception in the last round, 0 if there is none."""
        return int(self._numbers[4])

    def _run(self, kind: int) -> int:
        self._round = (self._round & 0x7FFFFFFE) + 2 + kind
        self._team.step_aside()
        for k, helper in enumerate(self._helping):
            if helper is None or helper.done():
                self._helping[k] = self._team.call(self._help)
        return self._work()


class _Pool:
    """Threads that are kept off the caller's processor.

    Linux wakes a thread on its caller's processor and takes milliseconds to move it, by which time
    the work is done serially.
    """

    def __init__(self, count: int) -> None:
        # Imported here: a batch without threads starts sooner.
        from concurrent.futures import ThreadPoolExecutor

        self._threads_here: list[int] = []
        self._avoided = -1
        executor = ThreadPoolExecutor(count, initializer=self._enter)
        self.submit, self.shutdown = executor.submit, executor.shutdown
        self.processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        self._locate = getattr(ctypes.CDLL(None), "sched_getcpu", None)

    def _enter(self) -> None:
        self._threads_here.append(threading.get_native_id())
        self._avoided = -1

    def step_aside(self) -> None:
        """Move the threads off the caller's processor, if it is another one than last time."""
        if len(self.processors) < 2 or self._locate is None:
            return
        processor = self._locate()
        if processor == self._avoided:
            return
        others = self.processors - {processor}
        for thread in self._threads_here:
            # Fails if the thread has ended or is not permitted to move.
            with suppress(OSError):
                os.sched_setaffinity(thread, others)
        self._avoided = processor


def _work_off(
    pieces: Iterator[tuple[int, int]], work: Callable[[int, int], int]
) -> tuple[int, int]:
    """Process pieces until none is left; return the lowest result and the sum."""
    lowest = total = 0
    for first, last in pieces:
        count = work(first, last)
        lowest, total = min(lowest, count), total + count
    return lowest, total
