"""Reads results from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, select

from ludus.bench.result import Result
from ludus.bench.store.rows import OWN_FIELDS, Series, restore
from ludus.bench.store.tables import results, runs, series
from ludus.errors import StoreError

__all__ = ["load_series", "read_places", "read_results"]

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


def read_results(
    connection: Connection, wanted: _Conditions, having: _Conditions, of_runs: _Conditions
) -> Iterator[Result]:
    """Iterate over results by run and id, given conditions on series, results and runs."""
    for _, result in read_places(connection, of_runs, wanted, having):
        yield result


def read_places(
    connection: Connection,
    of_runs: _Conditions,
    wanted: _Conditions = (),
    having: _Conditions = (),
    *,
    kinds: Mapping[int, Series] | None = None,
) -> Iterator[tuple[tuple[int, int], Result]]:
    """Iterate likewise, with the numbers of series and run of each result.

    With ``kinds``, series by number, results of other series are left out.
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
