"""Writes one batch of results into the tables, in one transaction.

Rows are written in one order everywhere, runs before series before results, so that concurrent
writers never deadlock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    JSON,
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

from ludus.bench.store import tables
from ludus.bench.store.rows import OWN_FIELDS, Prepared, Series, supersedes
from ludus.errors import StoreError

__all__ = ["Numbers", "write_batch"]

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
                    replaced += _replace(connection, number, item, numbers)
    return replaced


def _replace(connection: Connection, number: int, item: Prepared, numbers: Numbers) -> bool:
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
        f"{name} is {_short(was[name])} there and {_short(now[name])} here"
        for name in (*Series._fields, *OWN_FIELDS)
        if was[name] != now[name]
    ]
    rest = f"; and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    return StoreError(
        f"result {item.row['id']!r} of run {item.run!r} is {where} with other content: "
        f"{'; '.join(told[:_MOST_NAMED])}{rest}. A result is never changed; add it under another "
        "run."
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _parts(items: list[Any]) -> Iterable[list[Any]]:
    return (items[i : i + _MOST_AT_ONCE] for i in range(0, len(items), _MOST_AT_ONCE))
