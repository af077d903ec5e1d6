"""Threads that share the environments of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

__all__ = ["Team"]

_PIECES = 8
_SMALLEST = 1024


class Team:
    """The calling thread and ``num_threads - 1`` others, which take pieces of the work in turn.

    The others need some time to wake up. So there are more pieces than threads: whoever is awake
    takes the next one.

    Args:
        num_threads: How many threads work.
        n: How many environments there are.

    Raises:
        ValueError: ``num_threads`` is not a positive int.
    """

    def __init__(self, num_threads: int, n: int) -> None:
        if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
            raise ValueError(f"num_threads must be a positive int, got {num_threads!r}.")
        pieces = num_threads * max(1, min(_PIECES, n // (num_threads * _SMALLEST)))
        pieces = pieces if num_threads > 1 else 1
        self._pieces = list(pairwise(n * k // pieces for k in range(pieces + 1)))
        self.size = num_threads
        self._pool = ThreadPoolExecutor(num_threads - 1) if num_threads > 1 else None

    def run(self, work: Callable[[int, int], int]) -> int:
        """Call ``work(first, last)`` for every piece; return the sum, or the lowest if negative."""
        pieces = iter(self._pieces)
        if self._pool is None:
            return _work_off(pieces, work)[1]
        helping = [self._pool.submit(_work_off, pieces, work) for _ in range(self.size - 1)]
        results = [_work_off(pieces, work)]
        results += [helper.result() for helper in helping if not helper.cancel()]
        lowest = min(low for low, _ in results)
        return lowest if lowest < 0 else sum(total for _, total in results)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


def _work_off(
    pieces: Iterator[tuple[int, int]], work: Callable[[int, int], int]
) -> tuple[int, int]:
    """Take pieces until none is left; return the lowest result and the sum."""
    lowest = total = 0
    for first, last in pieces:
        count = work(first, last)
        lowest, total = min(lowest, count), total + count
    return lowest, total
