"""Deques with the statistics of the last episodes, filled on first access."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy.typing as npt

__all__ = ["EpisodeQueues", "Statistics"]

Statistics = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""Returns, lengths and seconds of some episodes."""


class EpisodeQueues:
    """Returns, lengths and seconds of the last episodes.

    Filling deques number by number takes as long as a step of a compiled batch. So whole arrays are
    kept until a deque is first accessed. From then on the deques are filled at every step, because
    the caller may hold a reference to them.

    Args:
        length: How many episodes are kept; ``None`` for all.
    """

    def __init__(self, length: int | None) -> None:
        self._deques: tuple[deque[Any], ...] = tuple(deque(maxlen=length) for _ in range(3))
        self._length = self._deques[0].maxlen
        self._waiting: deque[Statistics] = deque()
        self._size = 0
        self._seen = False

    def add(self, statistics: Statistics) -> None:
        """Add episodes; the arrays are kept and must not be changed afterwards."""
        self._waiting.append(statistics)
        self._size += len(statistics[0])
        if self._seen:
            self._fill()
        elif self._length is not None:
            # Drop arrays whose values would fall out of the deques anyway.
            while self._size - len(self._waiting[0][0]) >= self._length:
                self._size -= len(self._waiting.popleft()[0])

    def get(self, index: int) -> deque[Any]:
        """Return the deque of returns, lengths or seconds."""
        self._seen = True
        self._fill()
        return self._deques[index]

    def replace(self, index: int, queue: deque[Any]) -> None:
        """Use another deque from now on."""
        self.get(index)
        self._deques = (*self._deques[:index], queue, *self._deques[index + 1 :])

    def _fill(self) -> None:
        for statistics in self._waiting:
            for queue, values in zip(self._deques, statistics, strict=True):
                queue.extend(values)
        self._waiting.clear()
        self._size = 0
