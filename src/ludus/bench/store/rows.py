"""Results as rows of the tables, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Insert,
    LargeBinary,
    Table,
    Text,
    bindparam,
    cast,
    column,
    func,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from ludus.bench.faults import shown
from ludus.bench.result import Result, read_json
from ludus.bench.store import tables
from ludus.bench.store.tables import results, runs, series
from ludus.errors import StoreError

__all__ = [
    "LARGEST_EXTRA",
    "OWN_FIELDS",
    "Numbers",
    "Prepared",
    "Series",
    "load_series",
    "prepare",
    "read_places",
    "restore",
    "supersedes",
    "write_batch",
]

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


_PAGE = 50  # results in memory while reading
_Conditions = Sequence[ColumnElement[bool]]


def load_series(connection: Connection, wanted: _Conditions) -> dict[int, Series]:
    """Return the series that fit, by number.

    Raises:
        StoreError: If one was not written by a store. Also for a number that is not there.
    """
    query = select(series.c.number, *(series.c[name] for name in Series._fields)).where(*wanted)
    found = _Known()
    for number, *values in connection.execute(query):
        if not all(value is None or isinstance(value, str) for value in values):
            raise StoreError(f"series {number} is damaged: it holds something that is no text")
        found[number] = Series(*values)
    return found


class _Known(dict[int, Series]):
    """Series by number; a row may name one that was deleted."""

    def __missing__(self, number: int) -> Series:
        raise StoreError(f"a result is damaged: it belongs to series {number}, which is not here")


def read_places(
    connection: Connection,
    of_runs: _Conditions,
    wanted: _Conditions = (),
    having: _Conditions = (),
    *,
    kinds: Mapping[int, Series] | None = None,
) -> Iterator[tuple[tuple[int, int], Result]]:
    """Iterate over results by run and id, with the numbers of series and run of each.

    Conditions are on runs, series and results. With ``kinds``, series by number, results of other
    series are left out.
    """
    known = load_series(connection, wanted) if kinds is None else kinds
    found = connection.execute(
        select(runs.c.number, runs.c.name).where(*of_runs).order_by(runs.c.name)
    ).all()
    query = select(results.c.series, *(results.c[name] for name in OWN_FIELDS))
    if wanted:
        query = query.join(series, series.c.number == results.c.series).where(*wanted)
    for number, name in found:
        page = query.where(results.c.run == number, *having).order_by(results.c.id)
        with connection.execution_options(yield_per=_PAGE).execute(page) as rows:
            for kind, *values in rows:
                if kinds is None or kind in kinds:
                    yield (kind, number), restore(name, known[kind], values)


Numbers = dict[str | bytes, int]
"""Numbers of runs by name and of series by digest, as far as they are known."""

_MOST_AT_ONCE = 500  # parameters of one query
_MOST_NAMED = 3


def write_batch(
    connection: Connection, batch: Sequence[Prepared], known: Mapping[str | bytes, int]
) -> tuple[int, Numbers]:
    """Write what is new; return how many that were, and the numbers that were found.

    Raises:
        StoreError: If one of them is in the store, or twice in the batch, with other content.
    """
    unique: dict[tuple[str, str], Prepared] = {}
    for item in batch:
        other = unique.setdefault(item.key, item)
        if _takes_place(item, other.series, other.row, "twice in one batch"):
            unique[item.key] = item
    numbers = dict(known)
    _number_runs(connection, {item.run for item in unique.values()}, numbers)
    digests = {series: series.digest for series in {item.series for item in unique.values()}}
    _number_series(connection, digests, numbers)
    rows = [
        {**item.row, "run": numbers[item.run], "series": numbers[digests[item.series]]}
        for item in unique.values()
    ]
    rows.sort(key=lambda row: (row["run"], row["id"]))
    added = _insert_missing(connection, tables.results, rows)
    if added < len(rows):
        added += _settle(connection, unique, numbers)
    return added, numbers


def _insert_missing(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> int:
    """Insert the rows whose key is new, and return how many that were."""
    if connection.dialect.name == "sqlite":
        return connection.execute(sqlite.insert(table).on_conflict_do_nothing(), rows).rowcount
    # As one parameter: many times faster than a parameter for each value.
    text = json.dumps(rows, default=bytes.hex)
    query = _insert_from_json(table, tuple(rows[0])).execution_options(preserve_rowcount=True)
    return connection.execute(query, {"rows": text}).rowcount


@cache
def _insert_from_json(table: Table, names: tuple[str, ...]) -> Insert:
    """Return PostgreSQL's statement that takes rows from JSON, with bytes in hexadecimal."""
    types = {name: table.c[name].type for name in names}
    sent = [
        column(name, Text() if isinstance(kind, LargeBinary) else kind)
        for name, kind in types.items()
    ]
    opened = func.json_to_recordset(cast(bindparam("rows", type_=Text), JSON))
    given = opened.table_valued(*sent).render_derived(name="given", with_types=True)
    values = [
        func.decode(given.c[name], "hex") if isinstance(kind, LargeBinary) else given.c[name]
        for name, kind in types.items()
    ]
    return postgresql.insert(table).from_select(names, select(*values)).on_conflict_do_nothing()


def _number_runs(connection: Connection, names: Iterable[str], numbers: Numbers) -> None:
    missing = {name: {"name": name} for name in names if name not in numbers}
    _number(connection, tables.runs, "name", missing, numbers)


def _number_series(
    connection: Connection, digests: Mapping[Series, bytes], numbers: Numbers
) -> None:
    missing = {
        digest: {"digest": digest, **series._asdict()}
        for series, digest in digests.items()
        if digest not in numbers
    }
    _number(connection, tables.series, "digest", missing, numbers)


def _number(
    connection: Connection, table: Table, column: str, missing: Mapping[Any, Any], numbers: Numbers
) -> None:
    _look_up(connection, table, column, list(missing), numbers)
    rest = sorted(key for key in missing if key not in numbers)
    if rest:
        _insert_missing(connection, table, [missing[key] for key in rest])
        _look_up(connection, table, column, rest, numbers)


def _look_up(
    connection: Connection, table: Table, column: str, keys: list[Any], numbers: Numbers
) -> None:
    for part in _parts(keys):
        query = select(table.c[column], table.c.number).where(table.c[column].in_(part))
        numbers.update(
            (bytes(key) if column == "digest" else key, number)
            for key, number in connection.execute(query)
        )


def _settle(
    connection: Connection, batch: Mapping[tuple[str, str], Prepared], numbers: Numbers
) -> int:
    """Compare a batch with what the store has of it; return how many rows took another's place."""
    ids: dict[str, list[str]] = {}
    for run, name in sorted(batch):
        ids.setdefault(run, []).append(name)
    table, replaced = tables.results, 0
    for run, given in ids.items():
        for part in _parts(given):
            query = select(table.c.number, table.c.id, table.c.digest).where(
                table.c.run == numbers[run], table.c.id.in_(part)
            )
            found = connection.execute(query.order_by(table.c.id)).all()
            for number, name, digest in found:
                item = batch[run, name]
                if bytes(digest) != item.row["digest"]:
                    replaced += _put_in_place(connection, number, item, numbers)
    return replaced


def _put_in_place(connection: Connection, number: int, item: Prepared, numbers: Numbers) -> bool:
    """Put a result in the place of a row, if it may take it; return whether it did."""
    table = tables.results
    query = (
        select(table, *(tables.series.c[name] for name in Series._fields))
        .join(tables.series, tables.series.c.number == table.c.series)
        .where(table.c.number == number)
        .with_for_update(of=table)
    )
    row = dict(connection.execute(query).mappings().one())
    row["digest"] = bytes(row["digest"])
    series = Series(*(row[name] for name in Series._fields))
    if not _takes_place(item, series, row, "in the store"):
        return False
    values = {**item.row, "series": numbers[item.series.digest]}
    connection.execute(update(table).where(table.c.number == number).values(values))
    return True


def _takes_place(item: Prepared, series: Series, row: Mapping[str, Any], where: str) -> bool:
    answer = supersedes(item.row, row)
    if answer is None:
        raise _conflict(item, series, row, where)
    return answer


def _conflict(item: Prepared, series: Series, row: Mapping[str, Any], where: str) -> StoreError:
    was = {**row, **series._asdict()}
    now = {**item.row, **item.series._asdict()}
    told = [
        f"{name} is {shown(was[name], 60)} there and {shown(now[name], 60)} here"
        for name in (*Series._fields, *OWN_FIELDS)
        if was[name] != now[name]
    ]
    rest = f"; and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    return StoreError(
        f"result {item.row['id']!r} of run {item.run!r} is {where} with other content: "
        f"{'; '.join(told[:_MOST_NAMED])}{rest}. A result is never changed; add it under another "
        "run."
    )


def _parts(items: list[Any]) -> Iterable[list[Any]]:
    return (items[i : i + _MOST_AT_ONCE] for i in range(0, len(items), _MOST_AT_ONCE))
