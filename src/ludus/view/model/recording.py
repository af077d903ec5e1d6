"""What the player shows of a recording of episodes: its table of episodes, and series of numbers.

Nothing of the environment is executed here; all of it is read from the blocks.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import RecordDamaged, RecordError
from ludus.record.format.folder import Folder
from ludus.record.replay.episode_table import Episode, episodes, stored_column
from ludus.record.replay.replay import EPISODES
from ludus.record.run.reader import RunReader, read_run
from ludus.terminal_text import printable
from ludus.view.replaying.timeline import Timeline, after, before

__all__ = ["MOST_POINTS", "Recording", "Series", "Shown", "open_recording", "stamp_of", "thinned"]

MOST_POINTS = 4000
"""Points of one line in a chart."""
_MOST_LINES = 16
_MOST_ROWS = 500_000
_MOST_NUMBERS, _MOST_EPISODES = 400_000_000, 3_000_000
_FLAGS = {1: "terminated", 2: "truncated", 3: "terminated and truncated", 0: "not finished"}


@dataclass(frozen=True, slots=True)
class Shown:
    """One episode, as the table of episodes has it.

    Attributes:
        place: Its number in the address: of all episodes, in the order in which they ended.
        episode: What is known of it.
    """

    place: int
    episode: Episode

    @property
    def ending(self) -> str:
        """How it ended."""
        return _FLAGS[self.episode.terminated + 2 * self.episode.truncated]

    def moment(self, t: int) -> int:
        """Return the moment of a frame: 0 is after the reset, t after the step t."""
        row = self.episode.first_row
        return before(row) if t == 0 else after(row + t - 1)


@dataclass(frozen=True, slots=True)
class Series:
    """Lines of a chart over the steps of an episode.

    Attributes:
        title: What they are.
        steps: Numbers of the steps, from 1.
        lines: By name, a number per step; the least and the greatest of several steps take turns
            where there are more steps than points.
    """

    title: str
    steps: Sequence[int]
    lines: Mapping[str, Sequence[float | None]]


class Recording:
    """A recording of episodes, read once.

    Raises:
        RecordError: It is none, or it is damaged.
    """

    def __init__(self, reader: RunReader, stamp: str) -> None:
        if reader.manifest.get("kind") != EPISODES:
            kind = reader.manifest.get("kind")
            raise RecordError(f"This is a record of the kind {kind!r:.50}, not one of episodes.")
        self.reader, self.stamp = reader, stamp
        self.subject: Mapping[str, Any] = reader.manifest["subject"]
        self.timeline = Timeline(reader)
        count = self.subject.get("num_envs")
        if self.rows * (count if type(count) is int else 1) > _MOST_NUMBERS:
            # Rows that are all the same take their maker no room.
            raise RecordError(f"The recording has {self.rows:,} rows, too many to be shown.")
        self._table = _Packed(episodes(reader, unfinished=True))

    def __len__(self) -> int:
        return len(self._table)

    @property
    def env_id(self) -> str:
        """The environment's id; empty if it has none."""
        found = self.subject.get("id")
        return found if isinstance(found, str) else ""

    @property
    def title(self) -> str:
        """The id for titles and names of files: short, without characters that do something."""
        return printable(self.env_id, 80) or "episodes"

    @property
    def num_envs(self) -> int | None:
        """How many environments the batch has; ``None`` for a single one."""
        return self.subject.get("num_envs")

    @property
    def rows(self) -> int:
        """Recorded steps; of a batch, steps of all its environments together."""
        return self.timeline.rows

    @property
    def finished(self) -> int:
        """How many episodes ended by themselves."""
        return int(np.count_nonzero(self._table.flags))

    def episode(self, place: int) -> Shown:
        """Return one episode; raises ``IndexError`` if there is none."""
        if not 0 <= place < len(self):
            raise IndexError(f"The recording has {len(self)} episodes; none is number {place}.")
        return Shown(place, self._table.row(place))

    def sorted(self, by: str, *, descending: bool = False) -> NDArray[np.int64]:
        """Return the places of the episodes by ``place``, ``return`` or ``length``."""
        keys = {"return": self._table.totals, "length": self._table.lengths}
        found = keys.get(by)
        order = np.arange(len(self)) if found is None else np.argsort(found, kind="stable")
        return order[::-1] if descending else order

    def landmarks(self) -> dict[str, Shown]:
        """Return the best, worst and longest of the finished episodes, or of all if none is."""
        places = np.flatnonzero(self._table.flags)
        if not places.size:
            places = np.arange(len(self))
        if not places.size:
            return {}
        totals, lengths = self._table.totals[places], self._table.lengths[places]
        picks = {
            "best": np.argmax(totals),
            "worst": np.argmin(totals),
            "longest": np.argmax(lengths),
        }
        return {name: self.episode(int(places[index])) for name, index in picks.items()}

    def returns(self) -> NDArray[np.float64]:
        """Return the total reward of each episode, in the order of their places."""
        return self._table.totals

    def lengths(self) -> NDArray[np.int64]:
        """Return the length of each episode, in the order of their places."""
        return self._table.lengths

    def last_frame(self, shown: Shown) -> int:
        """Return the number of the last frame of an episode.

        Under same-step autoreset the last step also resets: there is no frame of the end.
        """
        same_step = self.subject.get("autoreset_mode") == "SameStep"
        is_lost = same_step and shown.episode.is_finished
        return shown.episode.length - is_lost

    def series(self, shown: Shown) -> list[Series]:
        """Return the rewards, actions and, where they are stored, observations of an episode.

        Of a very long episode, the first half million steps.
        """
        length = min(shown.episode.length, _MOST_ROWS)
        found = [
            Series("reward", *self._lines(shown, length, [("reward", np.dtype(np.float64), ())]))
        ]
        is_stored = self.subject.get("observations") is True
        for title in ("action", "observation") if is_stored else ("action",):
            leaves = self._leaves(title)
            if leaves:
                found.append(Series(title, *self._lines(shown, length, leaves)))
        return [one for one in found if one.lines]

    def _leaves(self, title: str) -> list[tuple[str, Any, tuple[int, ...]]]:
        leaves = []
        for column in self.subject.get("columns", ()):
            name = column.get("name") if isinstance(column, dict) else None
            if isinstance(name, str) and (name == title or name.startswith(f"{title}/")):
                shape = tuple(column["shape"])[0 if self.num_envs is None else 1 :]
                leaves.append((name, np.dtype(column["dtype"]), shape))
        return leaves

    def _lines(
        self, shown: Shown, length: int, leaves: list[tuple[str, Any, tuple[int, ...]]]
    ) -> tuple[list[int], dict[str, list[float | None]]]:
        """Return the steps and the lines of some columns."""
        width = 0
        names: list[str] = []
        taken: list[tuple[str, Any, tuple[int, ...], int]] = []
        for name, dtype, shape in leaves:
            items = min(math.prod(shape), _MOST_LINES - width)
            if items > 0:
                width += items
                taken.append((name, dtype, shape, items))
                names += [name] if shape == () else [f"{name}[{i}]" for i in range(items)]
        table = np.full((length, width), np.nan)
        for part, block in self._blocks(shown.episode.first_row, length):
            at = 0
            for name, dtype, shape, items in taken:
                batch = () if self.num_envs is None else (self.num_envs,)
                # Float actions are stored in the dtype they were given in.
                kind = block[name].dtype if name in block and dtype.kind == "f" else dtype
                found = stored_column(block, name, kind, batch + shape)[part[1]]
                if batch:
                    found = found[:, shown.episode.env_index]
                flat = found.reshape(len(found), -1)[:, :items]
                table[part[0], at : at + items] = flat
                at += items
        return thinned(table, names)

    def _blocks(self, first: int, length: int) -> Iterator[tuple[tuple[slice, slice], Any]]:
        """Yield where rows go to and come from, and the block they are in."""
        row = first
        while row < first + length:
            place = self.timeline.place_of(row)
            stop = min(place.first + place.rows, first + length)
            parts = slice(row - first, stop - first), slice(row - place.first, stop - place.first)
            yield parts, self.reader.block(place.event)
            row = stop


class _Packed:
    """Episodes as columns, a few bytes each."""

    def __init__(self, found: Iterator[Episode]) -> None:
        numbers, totals = array("q"), array("d")
        self._seeds: list[int | None] = []  # mostly None
        for one in found:
            flags = one.terminated + 2 * one.truncated
            numbers.extend((one.env_index, one.number, one.first_row, one.length, flags))
            totals.append(one.total_reward)
            self._seeds.append(one.seed)
            if len(totals) > _MOST_EPISODES:
                raise RecordError(f"It has more than {_MOST_EPISODES:,} episodes, too many.")
        table = np.frombuffer(numbers, np.int64).reshape(-1, 5)
        self._env, self._number, self._first, self.lengths, self.flags = table.T
        self.totals = np.frombuffer(totals, np.float64)

    def __len__(self) -> int:
        return len(self.lengths)

    def row(self, place: int) -> Episode:
        flags = int(self.flags[place])
        numbers = (self._env, self._number, self._first, self.lengths)
        env, number, first, length = (int(column[place]) for column in numbers)
        total = float(self.totals[place])
        seed = self._seeds[place]
        return Episode(env, number, seed, first, length, total, bool(flags & 1), bool(flags & 2))


def open_recording(path: Path, *, within: Path | None = None) -> Recording:
    """Read a recording; raises ``RecordError`` if it is none, ``RecordDamaged`` if it is broken."""
    stamp = stamp_of(path, within=within)
    try:
        return Recording(read_run(path, within=within), stamp)
    except (KeyError, TypeError, AttributeError) as problem:
        raise RecordDamaged(f"The manifest is no proper one: {problem!r:.200}") from problem


def stamp_of(path: Path, *, within: Path | None = None) -> str:
    """Return a text that changes when the recording grows or is replaced."""
    with Folder(path, within=within) as folder:
        parts = []
        for name in ("manifest.json", "events.jsonl"):
            handle = folder.open(name)
            if handle is not None:
                with handle:
                    status = os.fstat(handle.number)
                    parts.append(f"{status.st_dev:x}.{status.st_ino:x}.{status.st_size:x}")
                    parts.append(f"{status.st_mtime_ns:x}")
    return "-".join(parts)


def thinned(
    table: NDArray[np.float64], names: Sequence[str], most: int = MOST_POINTS
) -> tuple[list[int], dict[str, list[float | None]]]:
    """Return the steps, from 1, and the lines of a table with a row per step.

    If there are more rows than points, the least and the greatest number of each stretch stand for
    it. What is not finite is ``None``.
    """
    length = len(table)
    if length <= most:
        return list(range(1, length + 1)), {
            name: _plain(table[:, i]) for i, name in enumerate(names)
        }
    stretches = most // 2
    edges = np.linspace(0, length, stretches + 1).astype(np.int64)
    finite = np.where(np.isfinite(table), table, np.nan)
    low = np.fmin.reduceat(finite, edges[:-1], axis=0)
    high = np.fmax.reduceat(finite, edges[:-1], axis=0)
    steps = np.stack([edges[:-1] + 1, (edges[:-1] + edges[1:]) // 2 + 1], axis=1).reshape(-1)
    both = np.stack([low, high], axis=1).reshape(2 * stretches, -1)
    return steps.tolist(), {name: _plain(both[:, i]) for i, name in enumerate(names)}


def _plain(column: NDArray[np.float64]) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in column.tolist()]
