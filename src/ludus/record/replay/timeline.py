"""A recording in the order in which it happened: blocks of rows, and the resets between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludus.errors import RecordDamaged
from ludus.record.format.block import Block
from ludus.record.format.dtypes import is_narrowed, restored
from ludus.record.format.event import EVENTS, Event
from ludus.record.run.reader import RunReader

__all__ = ["Reset", "Span", "column", "spans", "stored_column"]


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
    """Yield what a recording consists of, one block in memory at a time.

    Resets are written before the rows that follow them. If the process was killed in between, they
    lead to nothing: those beyond the last row are left out.

    Raises:
        RecordDamaged: The chain, a block or a reset is broken.
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
            yield Span(reader.block(event), tuple(pending))
            pending = []
    last = tuple(reset for reset in pending if reset.row <= rows)
    if last:
        yield Span(None, last)


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
    line = event.n + 1
    return RecordDamaged(f"{EVENTS} line {line}: {reason}.", file=EVENTS, position=line)


def column(block: Mapping[str, Any], name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return a column that must be there, in the dtype that it was recorded with.

    Raises:
        RecordDamaged: It is missing, or cannot have come from such values.
    """
    return restored(stored_column(block, name, dtype, shape), np.dtype(dtype))


def stored_column(block: Mapping[str, Any], name: str, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return a column as it is stored, which may be narrower; as :func:`column` otherwise."""
    found = block.get(name)
    wanted = np.dtype(dtype)
    if found is None or found.shape[1:] != shape or not is_narrowed(found.dtype, wanted):
        form = "missing" if found is None else f"of dtype {found.dtype} and shape {found.shape[1:]}"
        raise RecordDamaged(
            f"A block's column {name!r} is {form}; expected were {wanted} and {shape}.",
            file="blocks.bin",
        )
    return found
