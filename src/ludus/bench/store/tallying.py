"""Tallies of a store's rows: by the index where that is enough, else row by row.

Series with copies, with scores below their floor, or with results that a trusted statement speaks
of are counted row by row: each result of the latter is compared with what was stated. Nothing here
relies on the tables' keys: the owner of the database can create the tables again without them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from math import fsum
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Connection, func, select

from ludus.bench.outcome import IDENTITY, STANDING, counted_score
from ludus.bench.result import Verified
from ludus.bench.store.board import BoardScale, ScaleOf, ScoreTally, identity_of, is_uneven
from ludus.bench.store.rows import Series, read_places
from ludus.bench.store.tables import results, runs, series
from ludus.bench.verifying.statement import Standing

__all__ = ["count_missing", "read_tallies"]

_GROUP = (results.c.series, results.c.outcome)
_MOST_AT_ONCE = 500  # parameters of one query
_COUNTED = ("seed", *IDENTITY)
_ID, _OUTCOME, _SCORE = (_COUNTED.index(name) for name in ("id", "outcome", "score"))
_Row: TypeAlias = tuple[Any, ...]
"""Numbers of series and run, and all values of a row that are counted."""


class _Judged(NamedTuple):
    """The standing of a row, and the agent that it names."""

    verdict: Verified
    identity: str | None


_UNKNOWN = _Judged("claimed", None)


def read_tallies(
    connection: Connection,
    kinds: Mapping[int, Series],
    wanted: list[ColumnElement[bool]],
    scale: ScaleOf,
    told: Standing,
) -> list[ScoreTally]:
    """Return the tallies of the series that fit, as ``tally_results`` makes them of results.

    ``kinds`` are all series that fit the conditions ``wanted``, by number.
    """
    scales = {
        pair: scale(*pair) for pair in {(one.suite, one.suite_digest) for one in kinds.values()}
    }
    tallies: dict[int, list[ScoreTally]] = {}
    for number, outcome, *rest in connection.execute(_counted(wanted)):
        tallies.setdefault(number, []).append(ScoreTally(*kinds[number], outcome, "claimed", *rest))
    again = _with_copies(connection, wanted)
    again |= {n for n, found in tallies.items() if any(_below_floor(one, scales) for one in found)}
    judged = _judged(connection, kinds, told)
    again |= {kind for kind, *_ in judged}
    times = Counter(kinds.values())
    again |= {number for number, kind in kinds.items() if times[kind] > 1}
    once = [one for number, found in tallies.items() if number not in again for one in found]
    return once + _counted_again(connection, again & tallies.keys(), kinds, scales, judged)


def _judged(
    connection: Connection, kinds: Mapping[int, Series], told: Standing
) -> dict[_Row, _Judged]:
    """Return the standing of all rows of runs that trusted statements are about.

    A statement is about one result. Of several rows with one run and id none is verified.
    """
    names, found = sorted(told.runs), dict[_Row, _Judged]()
    keys: dict[_Row, tuple[str, str]] = {}
    rows: Counter[tuple[str, str]] = Counter()
    for first in range(0, len(names), _MOST_AT_ONCE):
        part = runs.c.name.in_(names[first : first + _MOST_AT_ONCE])
        for (kind, run), result in read_places(connection, [part], kinds=kinds):
            row = kind, run, *(getattr(result, name) for name in _COUNTED)
            keys[row] = result.run, result.id
            rows[keys[row]] += 1
            verdict = told.of(result).verified
            # The same in other words: it would stand on a board of its own.
            if tuple(getattr(result, name) for name in Series._fields) != kinds[kind]:
                verdict = "claimed"
            found[row] = _Judged(verdict, identity_of(result))
    for row, one in found.items():
        if one.verdict == "verified" and rows[keys[row]] > 1:
            found[row] = one._replace(verdict="claimed")
    return found


def count_missing(connection: Connection, told: Standing) -> Counter[tuple[str, str]]:
    """Count results of trusted statements that are not here, by suite and digest."""
    names, lacking = sorted(told.runs), set(told.suites)
    for first in range(0, len(names), _MOST_AT_ONCE):
        query = select(runs.c.name, results.c.id).join(runs, runs.c.number == results.c.run)
        part = query.where(runs.c.name.in_(names[first : first + _MOST_AT_ONCE]))
        lacking.difference_update((name, unit) for name, unit in connection.execute(part))
    return Counter(told.suites[unit] for unit in lacking)


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


def _below_floor(tally: ScoreTally, scales: Mapping[tuple[str, str], BoardScale]) -> bool:
    scale = scales[tally.suite, tally.suite_digest]
    floor = scale.floors.get(tally.env)
    if floor is None or tally.lowest is None or tally.highest is None:
        return False
    return tally.highest > floor if scale.falls(tally.env) else tally.lowest < floor


def _counted_again(
    connection: Connection,
    numbers: Collection[int],
    kinds: Mapping[int, Series],
    scales: Mapping[tuple[str, str], BoardScale],
    judged: Mapping[_Row, _Judged],
) -> list[ScoreTally]:
    """Count series row by row: copies once, and no score as less than the floor."""
    own = tuple(results.c[name] for name in _COUNTED)
    rows: dict[_Row, _Judged] = {}
    ordered = sorted(numbers)
    for first in range(0, len(ordered), _MOST_AT_ONCE):
        part = results.c.series.in_(ordered[first : first + _MOST_AT_ONCE])
        for number, run, *values in connection.execute(
            select(results.c.series, results.c.run, *own).where(part)
        ):
            one = judged.get((number, run, *values), _UNKNOWN)
            known = rows.setdefault((kinds[number], *values), one)
            if STANDING.index(one.verdict) < STANDING.index(known.verdict):
                rows[kinds[number], *values] = one
    groups: dict[tuple[Series, Any, Verified], list[tuple[float | None, str | None]]] = {}
    units: dict[tuple[Series, Verified], list[str]] = defaultdict(list)
    for (kind, *values), (verdict, identity) in rows.items():
        outcome, score = values[_OUTCOME], values[_SCORE]
        if outcome != "infrastructure_fault":
            units[kind, verdict].append(values[_ID])
        scale = scales[kind.suite, kind.suite_digest]
        if score is not None:
            floor, lower = scale.floors.get(kind.env), scale.falls(kind.env)
            score = counted_score(outcome, score, floor=floor, lower=lower)
        groups.setdefault((kind, outcome, verdict), []).append((score, identity))
    made = []
    for (kind, outcome, verdict), found in groups.items():
        scores = [score for score, _ in found if score is not None]
        sums = (fsum(scores), min(scores), max(scores)) if scores else (None, None, None)
        identities = frozenset(identity for _, identity in found if identity is not None)
        uneven = is_uneven(units[kind, verdict])
        made.append(
            ScoreTally._make((*kind, outcome, verdict, len(found), *sums, identities, uneven))
        )
    return made
