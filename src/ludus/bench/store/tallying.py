"""Tallies of a store's rows: by the index where that is enough, else row by row.

Series with copies, with scores below their floor, or with results that a trusted statement speaks
of are counted row by row: each result of the latter is compared with what was stated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import fsum
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, func, select

from ludus.bench.board import Scale
from ludus.bench.copies import IDENTITY, STANDING
from ludus.bench.outcome import counted_score
from ludus.bench.result import Verified
from ludus.bench.standing import Standing
from ludus.bench.store.reading import read_places
from ludus.bench.store.rows import Series
from ludus.bench.store.tables import results, runs, series
from ludus.bench.store.tally import ScaleOf, Tally

__all__ = ["read_tallies"]

_GROUP = (results.c.series, results.c.outcome)
_MOST_AT_ONCE = 500  # parameters of one query
_ID, _OUTCOME, _SCORE = (1 + IDENTITY.index(name) for name in ("id", "outcome", "score"))
_Place: TypeAlias = tuple[int, int, str]


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
    verdicts = _verdicts(connection, told)
    again |= {kind for kind, _, _ in verdicts}
    tallies |= _counted_again(connection, again & tallies.keys(), kinds, scales, verdicts)
    return [tally for found in tallies.values() for tally in found]


def _verdicts(connection: Connection, told: Standing) -> dict[_Place, Verified]:
    """Return what trusted statements make of results, by series, run and id."""
    names, found = sorted(told.runs), dict[_Place, Verified]()
    for first in range(0, len(names), _MOST_AT_ONCE):
        part = runs.c.name.in_(names[first : first + _MOST_AT_ONCE])
        for place, result in read_places(connection, [part]):
            verdict = told.of(result).verified
            if verdict != "claimed":
                found[place] = verdict
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
    numbers: Collection[int],
    kinds: Mapping[int, Series],
    scales: Mapping[tuple[str, str], Scale],
    verdicts: Mapping[_Place, Verified],
) -> dict[int, list[Tally]]:
    """Count series row by row: copies once, and no score as less than the floor."""
    own = tuple(results.c[name] for name in ("seed", *IDENTITY))
    rows: dict[tuple[Any, ...], Verified] = {}
    ordered = sorted(numbers)
    for first in range(0, len(ordered), _MOST_AT_ONCE):
        part = results.c.series.in_(ordered[first : first + _MOST_AT_ONCE])
        for kind, run, *values in connection.execute(
            select(results.c.series, results.c.run, *own).where(part)
        ):
            verdict = verdicts.get((kind, run, values[_ID]), "claimed")
            known = rows.setdefault((kind, *values), verdict)
            rows[kind, *values] = min(known, verdict, key=STANDING.index)
    groups: dict[tuple[int, Any, Verified], list[float | None]] = {}
    for (number, *values), verdict in rows.items():
        outcome, score = values[_OUTCOME], values[_SCORE]
        kind, scale = kinds[number], scales[kinds[number].suite, kinds[number].suite_digest]
        if score is not None:
            floor, lower = scale.floors.get(kind.env), scale.falls(kind.env)
            score = counted_score(outcome, score, floor=floor, lower=lower)
        groups.setdefault((number, outcome, verdict), []).append(score)
    made: dict[int, list[Tally]] = {}
    for (number, outcome, verdict), counts in groups.items():
        scores = [one for one in counts if one is not None]
        sums = (fsum(scores), min(scores), max(scores)) if scores else (None, None, None)
        made.setdefault(number, []).append(
            Tally(*kinds[number], outcome, verdict, len(counts), *sums)
        )
    return made
