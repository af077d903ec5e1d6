"""Tallies of a store's rows: by the index where that is enough, else row by row.

Series with copies, with scores below their floor, or with results that a trusted statement speaks
of are counted row by row: each result of the latter is compared with what was stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from ludus.bench.board import Scale
from ludus.bench.copies import IDENTITY
from ludus.bench.outcome import counted_score
from ludus.bench.standing import Standing
from ludus.bench.store.reading import read_results
from ludus.bench.store.rows import Series
from ludus.bench.store.tables import results, runs, series
from ludus.bench.store.tally import ScaleOf, Tally, tally_results

__all__ = ["read_tallies"]

_GROUP = (results.c.series, results.c.outcome)
_MOST_AT_ONCE = 500  # parameters of one query


def read_tallies(
    connection: Connection,
    kinds: Mapping[int, Series],
    wanted: list[ColumnElement[bool]],
    scale: ScaleOf,
    told: Standing,
) -> list[Tally]:
    """Return the tallies of the series that fit, as ``tally_results`` makes them of results.

    Args:
        connection: To the database.
        kinds: All series that fit, by number.
        wanted: What they fit.
        scale: Gives the floors.
        told: What trusted statements say.
    """
    scales = {
        pair: scale(*pair) for pair in {(one.suite, one.suite_digest) for one in kinds.values()}
    }
    tallies: dict[int, list[Tally]] = {}
    for number, outcome, *rest in connection.execute(_counted(wanted)):
        tallies.setdefault(number, []).append(Tally(*kinds[number], outcome, "claimed", *rest))
    again = _with_copies(connection, wanted)
    again |= {n for n, found in tallies.items() if any(_below_floor(one, scales) for one in found)}
    judged = _with_statements(connection, told) & tallies.keys()
    for number in again - judged:
        tallies[number] = _counted_again(connection, number, kinds[number], scales)
    for number in judged:
        own = read_results(connection, [series.c.number == number], [], [])
        tallies[number] = tally_results(map(told.of, own), scale)
    return [tally for found in tallies.values() for tally in found]


def _with_statements(connection: Connection, told: Standing) -> set[int]:
    """Return the series with results of runs that trusted statements speak of."""
    names, found = sorted(told.runs), set[int]()
    for first in range(0, len(names), _MOST_AT_ONCE):
        query = select(results.c.series).distinct().join(runs, runs.c.number == results.c.run)
        part = runs.c.name.in_(names[first : first + _MOST_AT_ONCE])
        found.update(connection.scalars(query.where(part)))
    return found


def _counted(wanted: list[ColumnElement[bool]]) -> Any:
    query = select(*_GROUP, func.count().label("count"), func.sum(results.c.score).label("sum"))
    if wanted:
        query = query.where(results.c.series.in_(select(series.c.number).where(*wanted)))
    groups = query.group_by(*_GROUP).subquery("groups")
    # The ends of a group are looked up in the index: cheaper than to look for them on the way.
    same = [column == groups.c[column.name] for column in _GROUP]
    ends = [
        select(end(results.c.score)).where(*same).scalar_subquery() for end in (func.min, func.max)
    ]
    return select(*groups.c, *ends)


def _with_copies(connection: Connection, wanted: list[ColumnElement[bool]]) -> set[int]:
    """Return the series in which a unit has several results."""
    query = select(results.c.series).group_by(results.c.series, results.c.id)
    if wanted:
        query = query.where(results.c.series.in_(select(series.c.number).where(*wanted)))
    return set(connection.scalars(query.having(func.count() > 1)))


def _below_floor(tally: Tally, scales: Mapping[tuple[str, str], Scale]) -> bool:
    scale = scales[tally.suite, tally.suite_digest]
    floor = scale.floors.get(tally.env)
    if floor is None or tally.lowest is None or tally.highest is None:
        return False
    return tally.highest > floor if scale.falls(tally.env) else tally.lowest < floor


def _counted_again(
    connection: Connection,
    number: int,
    kind: Series,
    scales: Mapping[tuple[str, str], Scale],
) -> list[Tally]:
    """Count a series of claims row by row: copies once, and no score as less than the floor."""
    scale = scales[kind.suite, kind.suite_digest]
    floor, lower = scale.floors.get(kind.env), scale.falls(kind.env)
    names = ("seed", *IDENTITY)
    query = select(*(results.c[name] for name in names)).where(results.c.series == number)
    groups: dict[Any, list[float | None]] = {}
    for values in {tuple(row) for row in connection.execute(query)}:
        row = dict(zip(names, values, strict=True))
        counted = row["score"]
        if counted is not None:
            counted = counted_score(row["outcome"], counted, floor=floor, lower=lower)
        groups.setdefault(row["outcome"], []).append(counted)
    made = []
    for outcome, counts in groups.items():
        scores = [one for one in counts if one is not None]
        numbers = (fsum(scores), min(scores), max(scores)) if scores else (None, None, None)
        made.append(Tally(*kind, outcome, "claimed", len(counts), *numbers))
    return made
