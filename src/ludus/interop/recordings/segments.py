"""Assignment of rows to episodes, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.core.vector_env import AutoresetMode
from ludus.interop.recordings.rows import Rows
from ludus.record.replay.episode_table import Reset

__all__ = ["Segment", "Segments"]


@dataclass(frozen=True, slots=True)
class Segment:
    """The part of one environment's episode that is within a range of rows."""

    env_index: int
    number: int
    """Number of the environment's episode, from 0, as in :func:`ludus.record.episodes`."""
    seed: int | None
    start: int
    """First row of the segment, relative to the given rows."""
    stop: int
    first_step: int
    """Step of the episode at the first row; 0 if the episode begins there."""
    by_reset: bool
    """Whether the episode was started by ``reset``, not by autoreset."""
    ended: bool
    """Whether the episode ends with the segment's last row."""


class Segments:
    """Splits rows into segments; a row that only resets belongs to none.

    Args:
        envs: Number of environments in the batch.
        mode: Their autoreset mode; ``None`` for a single environment.
    """

    def __init__(self, envs: int, mode: AutoresetMode | None) -> None:
        # Rows from the end of an episode to the start of the next; None without autoreset.
        gaps = {AutoresetMode.NEXT_STEP: 2, AutoresetMode.SAME_STEP: 1}
        self._gap = None if mode is None else gaps.get(mode)
        self._envs = envs
        self._begin: list[int | None] = [None] * envs
        self._number = [-1] * envs
        self._seeds: list[int | None] = [None] * envs
        self._by_reset = [False] * envs

    def take(self, rows: Rows, over: NDArray[np.bool_]) -> Iterator[Segment]:
        """Yield the segments of the next rows, in order for each environment.

        Args:
            rows: The rows after those of the previous call.
            over: Array of shape ``(rows, envs)``: whether an episode ended there.
        """
        row, first = rows.first_row, rows.first_row
        for due in (*rows.resets, None):
            stop = first + rows.count if due is None else due.row
            if stop > row:
                yield from self._advance(first, row, over[row - first : stop - first])
            row = stop
            if due is not None:
                self._reset(due)

    def _reset(self, reset: Reset) -> None:
        for index in np.flatnonzero(reset.chosen(self._envs)).tolist():
            self._start(index, reset.row, reset.seed_of(index), by_reset=True)

    def _start(self, index: int, row: int, seed: int | None, *, by_reset: bool) -> None:
        self._begin[index] = row
        self._number[index] += 1
        self._seeds[index] = seed
        self._by_reset[index] = by_reset

    def _advance(self, first: int, row: int, over: NDArray[Any]) -> Iterator[Segment]:
        """Yield the segments of rows without resets, beginning with ``row``."""
        for offset, index in np.argwhere(over).tolist():
            begin = self._begin[index]
            if begin is None or begin > row + offset:
                continue
            yield self._segment(index, begin, max(begin, row), row + offset + 1, first, ended=True)
            self._begin[index] = None
            if self._gap is not None:
                self._start(index, row + offset + self._gap, None, by_reset=False)
        stop = row + len(over)
        for index, begin in enumerate(self._begin):
            if begin is not None and begin < stop:
                yield self._segment(index, begin, max(begin, row), stop, first, ended=False)

    def _segment(
        self, index: int, begin: int, start: int, stop: int, first: int, *, ended: bool
    ) -> Segment:
        return Segment(
            index,
            self._number[index],
            self._seeds[index],
            start - first,
            stop - first,
            start - begin,
            self._by_reset[index],
            ended,
        )
