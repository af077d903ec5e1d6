"""The rows of a recording as its blocks hold them, and what its manifest says about them."""

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

__all__ = ["IMPORTED", "Progress", "Rows", "Shape", "row_texts", "shape_of", "stored_rows"]

IMPORTED = "imported"
"""The kind of run that episodes from elsewhere are, if nobody can execute them again."""

Progress = Callable[[int, int], None]
"""Called with the rows done and the rows in all."""

_MODES = {mode.value: mode for mode in AutoresetMode}
_MOST_ENVS = 2**20
_MOST_NUMBERS = 2**28


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a recording, one after the other."""

    first_row: int
    count: int
    columns: Mapping[str, NDArray[Any]]
    """As a block holds them."""
    resets: tuple[Reset, ...]
    """The calls of ``reset`` before each of them; without rows, those after the last."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a recording's manifest says about its columns."""

    num_envs: int | None
    """``None`` for a single environment."""
    mode: AutoresetMode | None
    stored: bool
    """Whether observations are stored."""
    actions: tuple[Leaf, ...]
    """Columns of the actions; none if they are bytes."""
    observations: tuple[Leaf, ...]

    @property
    def batch(self) -> tuple[int, ...]:
        """``(num_envs,)``, or ``()`` for a single environment."""
        return () if self.num_envs is None else (self.num_envs,)

    @property
    def envs(self) -> int:
        """Environments stepped together, 1 for a single one."""
        return self.num_envs or 1

    def flags(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return rewards, terminations and truncations, each of shape ``(rows, envs)``.

        Raises:
            RecordDamaged: They are not there.
        """
        dtypes = {"reward": np.float64, "terminated": np.bool_, "truncated": np.bool_}
        reward, terminated, truncated = (
            column(rows.columns, name, dtype, self.batch).reshape(rows.count, self.envs)
            for name, dtype in dtypes.items()
        )
        return reward, terminated, truncated


def shape_of(manifest: Mapping[str, Any]) -> Shape:
    """Return what a manifest, which need not be trusted, says about the columns.

    Raises:
        RecordError: It is no recording of episodes.
        RecordDamaged: What it says cannot be.
    """
    if manifest["kind"] not in (EPISODES, IMPORTED):
        raise RecordError(
            f"A run of the kind {manifest['kind']!r:.50} is no recording of episodes; only those "
            "can be exported."
        )
    subject = manifest["subject"]
    count, mode, stored = (subject.get(k) for k in ("num_envs", "autoreset_mode", "observations"))
    if count is not None and (type(count) is not int or not 0 < count <= _MOST_ENVS):
        raise _damaged(f"{count!r:.50} for num_envs")
    known = isinstance(mode, str) and mode in _MODES
    if (mode is None) is not (count is None) or not (mode is None or known):
        raise _damaged(f"{mode!r:.50} for autoreset_mode")
    if type(stored) is not bool or not isinstance(subject.get("columns"), list):
        raise _damaged("no proper fields observations and columns")
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
    """Yield the rows of a recording, one block in memory at a time.

    Raises:
        RecordDamaged: The recording is broken.
    """
    first = 0
    for span in spans(reader):
        count = 0 if span.block is None else span.block.rows
        yield Rows(first, count, {} if span.block is None else span.block, span.resets)
        first += count


def row_texts(rows: Rows, name: str) -> list[bytes]:
    """Return a column of bytes, one text per row; empty ones if there is no such column.

    Raises:
        RecordDamaged: The column is broken.
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
