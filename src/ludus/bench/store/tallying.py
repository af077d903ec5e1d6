"""Tallies of a store's rows: by the index where that is enough, else row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from ludus.bench.board import Scale
from ludus.bench.copies import IDENTITY, STANDING
from ludus.bench.outcome import counted_score
from ludus.bench.store.rows import Series
from ludus.bench.store.tables import results, series
from ludus.bench.store.tally import ScaleOf, Tally

__all__ = ["read_tallies"]

_GROUP = (results.c.series, results.c.outcome, results.c.verified)


def read_tallies(
    connection: Connection,
    kinds: Mapping[int, Series],
    wanted: list[ColumnElement[bool]],
    scale: ScaleOf,
) -> list[Tally]:
    """Return the tallies of the series that fit, as ``tally_results`` makes them of results.

    Args:
        connection: To the database.
        kinds: All series that fit, by number.
        wanted: What they fit.
        scale: Gives the floors.
    """
    scales = {
        pair: scale(*pair) for pair in {(one.suite, one.suite_digest) for one in kinds.values()}
    }
    tallies: dict[int, list[Tally]] = {}
    for number, *rest in connection.execute(_counted(wanted)):
        tallies.setdefault(number, []).append(Tally(*kinds[number], *rest))
    for number in _with_copies(connection, wanted):
        tallies[number] = _counted_again(connection, number, kinds[number], scales)
    for number, found in tallies.items():
        if any(_below_floor(tally, scales) for tally in found):
            tallies[number] = _counted_again(connection, number, kinds[number], scales)
    return [tally for found in tallies.values() for tally in found]


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
    """Count a series row by row: copies once, and no score as less than the floor."""
    scale = scales[kind.suite, kind.suite_digest]
    floor, lower = scale.floors.get(kind.env), scale.falls(kind.env)
    names = ("seed", *IDENTITY)
    query = select(results.c.verified, *(results.c[name] for name in names))
    rows: dict[tuple[Any, ...], str] = {}
    for verified, *own in connection.execute(query.where(results.c.series == number)):
        known = rows.setdefault(tuple(own), verified)
        rows[tuple(own)] = min(known, verified, key=STANDING.index)
    groups: dict[tuple[Any, Any], list[float | None]] = {}
    for values, verified in rows.items():
        row = dict(zip(names, values, strict=True))
        counted = row["score"]
        if counted is not None:
            counted = counted_score(row["outcome"], counted, floor=floor, lower=lower)
        groups.setdefault((row["outcome"], verified), []).append(counted)
    made = []
    for (outcome, verified), counts in groups.items():
        scores = [one for one in counts if one is not None]
        numbers = (sum(scores), min(scores), max(scores)) if scores else (None, None, None)
        made.append(Tally(*kind, outcome, verified, len(counts), *numbers))
    return made
