"""Results as rows of the tables, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

from ludus.bench.result import Result, read_json
from ludus.errors import StoreError

__all__ = ["LARGEST_EXTRA", "OWN_FIELDS", "Prepared", "Series", "prepare", "restore", "supersedes"]

LARGEST_EXTRA = 8 << 20
_LARGEST_SCORE = 1e100  # so that no sum over them overflows
_LONGEST = {
    **dict.fromkeys(("run", "id", "suite", "suite_digest", "agent", "env", "source_hash"), 300),
    "budget": 10_000,
    "record": 4_096,
    "reason": 1 << 20,
}
_FLOATS = ("score", "best_score", "seconds", "cost")
_to_text = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


class Series(NamedTuple):
    """What results have in common that are repetitions of each other but for the seed."""

    suite: str
    suite_digest: str
    agent: str
    env: str
    budget: str
    source_hash: str | None

    @property
    def digest(self) -> bytes:
        """The SHA-256 of all of it: an index takes it, however long the names are."""
        return hashlib.sha256(json.dumps(self).encode()).digest()


OWN_FIELDS = tuple(
    field.name for field in fields(Result) if field.name not in {*Series._fields, "run", "verified"}
)
"""What a result's own row holds, in the order of :class:`~ludus.bench.result.Result`."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A result on its way into the store; ``row`` still lacks the numbers of run and series."""

    run: str
    series: Series
    row: dict[str, Any]

    @property
    def size(self) -> int:
        """About how many characters it takes."""
        return len(self.row["extra"]) + len(self.row["reason"] or "")

    @property
    def key(self) -> tuple[str, str]:
        """What a result is known by."""
        return self.run, self.row["id"]


def prepare(result: Result) -> Prepared:
    """Return the row of a result, with the digest of all of it.

    Raises:
        StoreError: If it is no result, or is larger than a store takes.
    """
    if not isinstance(result, Result):
        raise StoreError(f"A store holds results, not {type(result).__name__}.")
    for name, longest in _LONGEST.items():
        value = getattr(result, name)
        if value is not None and len(value) > longest:
            raise StoreError(
                f"The {name} of result {result.id[:80]!r} has {len(value)} characters, and a "
                f"store takes {longest}."
            )
    row = {name: getattr(result, name) for name in OWN_FIELDS}
    for name in _FLOATS:
        if row[name] is not None and abs(row[name]) > _LARGEST_SCORE:
            raise StoreError(f"The {name} {row[name]} is beyond ±{_LARGEST_SCORE:g}.")
    row["extra"] = _extra_text(result)
    series = Series(*(getattr(result, name) for name in Series._fields))
    content = [result.run, series, *(row[name] for name in OWN_FIELDS)]
    row["digest"] = hashlib.sha256(json.dumps(content).encode()).digest()
    return Prepared(result.run, series, row)


def supersedes(given: Mapping[str, Any], stored: Mapping[str, Any]) -> bool | None:
    """Return whether a row takes the place of another of the same key, ``None`` if neither may.

    An infrastructure fault is the lack of a result: a result takes its place, or a later fault.
    """
    lacks = [row["outcome"] == "infrastructure_fault" for row in (given, stored)]
    if given["digest"] == stored["digest"] or lacks == [True, False]:
        return False
    if lacks == [True, True]:
        moments = [datetime.fromisoformat(row["created"]) for row in (given, stored)]
        return moments[0] > moments[1]
    return True if lacks[1] else None


def restore(run: str, series: Series, values: Sequence[Any]) -> Result:
    """Return the result of a row, of which the values of :data:`OWN_FIELDS` are given.

    Raises:
        StoreError: If the row was not written by a store.
    """
    own = dict(zip(OWN_FIELDS, values, strict=True))
    try:
        own["extra"] = read_json(own["extra"])
        return Result(run=run, **series._asdict(), **own)
    except (ValueError, RecursionError) as problem:
        raise StoreError(f"result {own['id']!r} of run {run!r} is damaged: {problem}") from problem


def _extra_text(result: Result) -> str:
    try:
        text = _to_text(result.extra)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as problem:
        raise StoreError(f"The extra of result {result.id!r} is no JSON: {problem}") from problem
    if size > LARGEST_EXTRA:
        raise StoreError(
            f"The extra of result {result.id!r} takes {size} bytes, and a store takes "
            f"{LARGEST_EXTRA}; keep large data in the run's record."
        )
    return text
