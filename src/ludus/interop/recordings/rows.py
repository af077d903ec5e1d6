"""Rows and episodes of a recording, and the description of their columns in its manifest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.core.vector_env import AutoresetMode
from ludus.errors import RecordDamaged, RecordError
from ludus.record.format.columns import DTYPES
from ludus.record.format.values import Leaf, unpack_texts
from ludus.record.replay.episode_table import Reset, column, spans
from ludus.record.replay.replay import EPISODES
from ludus.record.run.reader import RunReader

__all__ = [
    "IMPORTED",
    "Progress",
    "Rows",
    "Segment",
    "Segments",
    "Shape",
    "row_texts",
    "shape_of",
    "stored_rows",
]

IMPORTED = "imported"
"""The kind of imported runs that cannot be replayed."""

Progress = Callable[[int, int], None]
"""Called with the number of rows done and the total."""

_MODES = {mode.value: mode for mode in AutoresetMode}
_MOST_ENVS = 2**20
_MOST_NUMBERS = 2**28


@dataclass(frozen=True, slots=True)
class Rows:
    """Consecutive rows of a recording."""

    first_row: int
    count: int
    columns: Mapping[str, NDArray[Any]]
    """Columns as in the run's blocks."""
    resets: tuple[Reset, ...]
    """Calls of ``reset`` before these rows; if there are none, those after the last row."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Description of a recording's columns, from its manifest."""

    num_envs: int | None
    """``None`` for a single environment."""
    mode: AutoresetMode | None
    stored: bool
    """Whether observations are stored."""
    actions: tuple[Leaf, ...]
    """Columns of the actions; empty if actions are stored as bytes."""
    observations: tuple[Leaf, ...]

    @property
    def batch(self) -> tuple[int, ...]:
        """``(num_envs,)``, or ``()`` for a single environment."""
        return () if self.num_envs is None else (self.num_envs,)

    @property
    def envs(self) -> int:
        """Number of environments, 1 for a single one."""
        return self.num_envs or 1

    def flags(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return rewards, terminations and truncations, each of shape ``(rows, envs)``.

        Raises:
            RecordDamaged: A column is missing.
        """
        dtypes = {"reward": np.float64, "terminated": np.bool_, "truncated": np.bool_}
        reward, terminated, truncated = (
            column(rows.columns, name, dtype, self.batch).reshape(rows.count, self.envs)
            for name, dtype in dtypes.items()
        )
        return reward, terminated, truncated


def shape_of(manifest: Mapping[str, Any]) -> Shape:
    """Return the columns that an untrusted manifest describes.

    Raises:
        RecordError: The run is not a recording of episodes.
        RecordDamaged: The description is invalid.
    """
    if manifest["kind"] not in (EPISODES, IMPORTED):
        raise RecordError(
            f"A run of the kind {manifest['kind']!r:.50} is not a recording of episodes; only "
            "those can be exported."
        )
    subject = manifest["subject"]
    count, mode, stored = (subject.get(k) for k in ("num_envs", "autoreset_mode", "observations"))
    if count is not None and (type(count) is not int or not 0 < count <= _MOST_ENVS):
        raise _damaged(f"{count!r:.50} for num_envs")
    known = isinstance(mode, str) and mode in _MODES
    if (mode is None) is not (count is None) or not (mode is None or known):
        raise _damaged(f"{mode!r:.50} for autoreset_mode")
    if type(stored) is not bool or not isinstance(subject.get("columns"), list):
        raise _damaged("invalid fields observations or columns")
    leaves = [_leaf(row, count) for row in subject["columns"]]
    parts = {"action": [leaf for leaf in leaves if leaf.name.split("/")[0] == "action"]}
    parts["observation"] = [leaf for leaf in leaves if leaf.name.split("/")[0] == "observation"]
    names = {leaf.name for part in parts.values() for leaf in part}
    if len(names) != len(leaves) or sum(map(len, parts.values())) != len(leaves):
        raise _damaged("columns that are neither of actions nor of observations")
    return Shape(
        count,
        None if mode is None else _MODES[mode],
        stored,
        tuple(parts["action"]),
        tuple(parts["observation"]),
    )


def stored_rows(reader: RunReader) -> Iterator[Rows]:
    """Yield the rows of a recording block by block.

    Raises:
        RecordDamaged: The recording is damaged.
    """
    first = 0
    for span in spans(reader):
        count = 0 if span.block is None else span.block.rows
        yield Rows(first, count, {} if span.block is None else span.block, span.resets)
        first += count


def row_texts(rows: Rows, name: str) -> list[bytes]:
    """Return a column of bytes with one value per row, all empty if the column is missing.

    Raises:
        RecordDamaged: The column is damaged.
    """
    return unpack_texts(name, rows.columns) if name in rows.columns else [b""] * rows.count


def _leaf(row: Any, num_envs: int | None) -> Leaf:
    if not isinstance(row, dict) or row.keys() != {"name", "dtype", "shape"}:
        raise _damaged("a column without name, dtype and shape")
    name, dtype, shape = row["name"], row["dtype"], row["shape"]
    if not isinstance(name, str) or not isinstance(dtype, str) or dtype not in DTYPES:
        raise _damaged(f"a column {name!r:.50} of dtype {dtype!r:.50}")
    counts = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    if not counts or len(shape) > 16 or math.prod(shape) > _MOST_NUMBERS:
        raise _damaged(f"a column {name!r:.50} of shape {shape!r:.50}")
    if num_envs is not None and shape[:1] != [num_envs]:
        raise _damaged(f"a column {name!r:.50} of shape {shape!r:.50} for {num_envs} environments")
    return Leaf(name, (), DTYPES[dtype], tuple(shape))


def _damaged(what: str) -> RecordDamaged:
    return RecordDamaged(f"The manifest's subject has {what}.", file="manifest.json")


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
