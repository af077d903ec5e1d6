"""The rows and resets of a recording in order, and the episodes in them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.core.vector_env import AutoresetMode
from ludus.errors import RecordDamaged
from ludus.record.format.block import Block
from ludus.record.format.columns import is_narrowed, restored
from ludus.record.format.event import Event, damaged_line
from ludus.record.run.reader import RunReader

__all__ = [
    "METRICS",
    "Episode",
    "Reset",
    "Span",
    "Totals",
    "column",
    "episodes",
    "spans",
    "stored_column",
    "stretches",
    "totals",
]


@dataclass(frozen=True, slots=True)
class Reset:
    """A call of ``reset``, made before the step of its row."""

    row: int
    seed: Any
    """An int, a list with one per environment, or ``None``."""
    options: dict[str, Any] | None
    check: int
    """First eight bytes of the observation's SHA-256."""

    def chosen(self, num_envs: int) -> Any:
        """Return which of the environments it resets."""
        mask = (self.options or {}).get("reset_mask")
        if isinstance(mask, np.ndarray) and mask.shape == (num_envs,) and mask.dtype == np.bool_:
            return mask
        return np.ones(num_envs, np.bool_)

    def seed_of(self, index: int) -> int | None:
        """Return the seed that one of the environments got."""
        if isinstance(self.seed, list):
            found: int | None = self.seed[index] if index < len(self.seed) else None
            return found
        return None if self.seed is None else self.seed + index


@dataclass(frozen=True, slots=True)
class Span:
    """A block and the resets that fall into it; the last span may be resets only."""

    block: Block | None
    resets: tuple[Reset, ...]


def spans(reader: RunReader) -> Iterator[Span]:
    """Yield the parts of a recording, one block at a time; raises as :func:`stretches`."""
    for event, resets in stretches(reader):
        yield Span(None if event is None else reader.block(event), resets)


def stretches(reader: RunReader) -> Iterator[tuple[Event | None, tuple[Reset, ...]]]:
    """Yield the event of each block and the resets that fall into it, without reading the block.

    Resets are written before the rows that follow them. If the process was killed in between, the
    resets beyond the last row are left out. The last event is ``None`` if resets follow the last
    block. Raises ``RecordDamaged`` if something is broken.
    """
    pending: list[Reset] = []
    rows = 0
    for event in reader.events:
        if event.kind == "reset":
            pending.append(_parsed(event, rows))
        elif event.kind == "resume":
            pending = [reset for reset in pending if reset.row <= rows]
        elif event.kind == "block":
            rows += event.data["rows"]
            if any(reset.row >= rows for reset in pending):
                raise _damaged(event, "it follows a reset that lies beyond its rows")
            yield event, tuple(pending)
            pending = []
    last = tuple(reset for reset in pending if reset.row <= rows)
    if last:
        yield None, last


def _parsed(event: Event, rows: int) -> Reset:
    data = event.data
    if data.keys() != {"row", "seed", "options", "check"}:
        raise _damaged(event, "a reset has the fields row, seed, options and check")
    row, seed, options, check = (data[key] for key in ("row", "seed", "options", "check"))
    if not _is_count(row) or row < rows or not _is_count(check):
        raise _damaged(event, f"a reset cannot have row {row!r:.50} and check {check!r:.50} here")
    one_each = isinstance(seed, list) and all(one is None or _is_count(one) for one in seed)
    if not (seed is None or _is_count(seed) or one_each):
        raise _damaged(event, "a reset's seed is no integer, nor a list of them")
    if not (options is None or isinstance(options, dict)):
        raise _damaged(event, "a reset's options are no dict")
    return Reset(row, seed, options, check)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _damaged(event: Event, reason: str) -> RecordDamaged:
    return damaged_line(event.n + 1, reason)


def column(block: Mapping[str, Any], name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return a required column in the dtype it was recorded with; raises ``RecordDamaged``."""
    return restored(stored_column(block, name, dtype, shape), np.dtype(dtype))


def stored_column(block: Mapping[str, Any], name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return a required column as it is stored, perhaps narrower; as :func:`column`."""
    found = block.get(name)
    wanted = np.dtype(dtype)
    if found is None or found.shape[1:] != shape or not is_narrowed(found.dtype, wanted):
        form = "missing" if found is None else f"of dtype {found.dtype} and shape {found.shape[1:]}"
        raise RecordDamaged(
            f"A block's column {name!r} is {form}; expected were {wanted} and {shape}.",
            file="blocks.bin",
        )
    return found


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode of one environment."""

    env_index: int
    """0 for a single environment."""
    number: int
    """Of this environment's episodes, from 0."""
    seed: int | None
    """Given to the reset that began it; ``None`` if there was none."""
    first_row: int
    length: int
    total_reward: float
    terminated: bool
    truncated: bool
    """Neither, if the recording or a reset ended before the episode did."""

    @property
    def is_finished(self) -> bool:
        """Whether it came to an end by itself."""
        return self.terminated or self.truncated


@dataclass(frozen=True, slots=True)
class Totals:
    """Returns and lengths of the finished episodes of a recording."""

    returns: tuple[float, ...]
    """In the order in which they ended, by row and then by environment."""
    lengths: tuple[int, ...]

    def value(self, metric: str, count: int | None = None) -> float | None:
        """Return a metric of the first ``count`` episodes; ``None`` if it is unknown or undefined.

        The metrics are the keys of :data:`METRICS`.
        """
        if metric not in METRICS:
            return None
        which, function = METRICS[metric]
        found = getattr(self, which)[:count]
        return float(function(found)) if found and (count is None or len(found) == count) else None


METRICS: dict[str, tuple[str, Callable[[Iterable[float]], float]]] = {
    "mean_return": ("returns", statistics.fmean),
    "median_return": ("returns", statistics.median),
    "min_return": ("returns", min),
    "max_return": ("returns", max),
    "total_return": ("returns", math.fsum),
    "mean_length": ("lengths", statistics.fmean),
    "total_length": ("lengths", math.fsum),
    "episodes": ("lengths", lambda found: len(tuple(found))),
}
"""What a result may claim: of which numbers, computed how."""


def episodes(reader: RunReader, *, unfinished: bool = False) -> Iterator[Episode]:
    """Yield the episodes of a recording in the order in which they ended.

    Under next-step autoreset, the row after an end only resets and belongs to no episode. With
    ``unfinished``, episodes that a reset, or the end of the recording, cut short are included.

    Raises:
        RecordDamaged: The recording is broken, or no recording of episodes.
    """
    table = _Table(reader.manifest["subject"])
    for span in spans(reader):
        for episode in table.take(span.block, span.resets):
            if unfinished or episode.is_finished:
                yield episode
    if unfinished:
        yield from table.rest()


def totals(reader: RunReader) -> Totals:
    """Return the returns and lengths of the finished episodes; raises as :func:`episodes`."""
    returns, lengths = [], []
    for episode in episodes(reader):
        returns.append(episode.total_reward)
        lengths.append(episode.length)
    return Totals(tuple(returns), tuple(lengths))


_NUMBERS = 2**18  # looked at together: as Python's own they take several times the memory


class _Table:
    """The current episode of every environment."""

    def __init__(self, subject: Mapping[str, Any]) -> None:
        count = subject.get("num_envs")
        if count is not None and (type(count) is not int or not 0 < count < 2**24):
            raise RecordDamaged(f"The manifest has {count!r:.50} for num_envs.")
        self._shape = () if count is None else (count,)
        self._n = n = count or 1
        # How many rows after an end the next episode begins; None if a reset has to begin it.
        gaps = {AutoresetMode.NEXT_STEP.value: 2, AutoresetMode.SAME_STEP.value: 1}
        mode = subject.get("autoreset_mode")
        self._gap = gaps.get(mode) if isinstance(mode, str) else None
        self._row = 0
        self._begin: list[int | None] = [None] * n  # None while no episode runs
        self._sum = [0.0] * n  # of the rows before self._row
        self._number = [-1] * n
        self._seeds: list[int | None] = [None] * n

    def take(self, block: Block | None, resets: tuple[Reset, ...]) -> Iterator[Episode]:
        """Go on by a block; yield the episodes that end in it."""
        if block is None:
            for reset in resets:
                yield from self._reset(reset)
            return
        first, end = self._row, self._row + block.rows
        rewards = self._column(block, "reward", np.float64)
        terminated = self._column(block, "terminated", np.bool_)
        truncated = self._column(block, "truncated", np.bool_)
        for due in (*resets, None):
            stop = end if due is None else due.row
            while self._row < stop:
                rows = min(stop - self._row, max(1, _NUMBERS // self._n))
                part = slice(self._row - first, self._row - first + rows)
                yield from self._advance(rewards[part], terminated[part], truncated[part])
            if due is not None:
                yield from self._reset(due)

    def rest(self) -> Iterator[Episode]:
        """Yield the episodes still running."""
        for index, begin in enumerate(self._begin):
            if begin is not None and begin < self._row:
                yield self._episode(index, self._row, self._sum[index], False, False)

    def _column(self, block: Block, name: str, dtype: Any) -> NDArray[Any]:
        found: NDArray[Any] = column(block, name, dtype, self._shape)
        return found.reshape(block.rows, self._n)

    def _reset(self, reset: Reset) -> Iterator[Episode]:
        for index in np.flatnonzero(reset.chosen(self._n)).tolist():
            begin = self._begin[index]
            if begin is not None and begin < self._row:
                yield self._episode(index, self._row, self._sum[index], False, False)
            self._start(index, self._row, reset.seed_of(index))

    def _start(self, index: int, row: int, seed: int | None) -> None:
        self._begin[index] = row
        self._sum[index] = 0.0
        self._number[index] += 1
        self._seeds[index] = seed

    def _advance(
        self, rewards: NDArray[Any], terminated: NDArray[Any], truncated: NDArray[Any]
    ) -> Iterator[Episode]:
        first, paid = self._row, rewards.T.tolist()
        ends = np.argwhere(terminated | truncated)
        flags = terminated[tuple(ends.T)].tolist(), truncated[tuple(ends.T)].tolist()
        for (row, index), is_end, is_cut in zip(ends.tolist(), *flags, strict=True):
            begin = self._begin[index]
            if begin is None or first + row < begin:
                continue
            # One after the other, for the same rounding as a sum that is kept during the episode.
            total = sum(paid[index][max(begin - first, 0) : row + 1], self._sum[index])
            yield self._episode(index, first + row + 1, total, is_end, is_cut)
            self._begin[index] = None
            if self._gap is not None:
                self._start(index, first + row + self._gap, None)
        for index, begin in enumerate(self._begin):
            if begin is not None:
                rest = paid[index][max(begin - first, 0) :]
                self._sum[index] = sum(rest, self._sum[index])
        self._row = first + len(rewards)

    def _episode(
        self, index: int, end: int, total: float, terminated: bool, truncated: bool
    ) -> Episode:
        begin = self._begin[index] or 0
        number, seed = self._number[index], self._seeds[index]
        return Episode(index, number, seed, begin, end - begin, total, terminated, truncated)
