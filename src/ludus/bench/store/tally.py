"""Counts and sums of scores: what a leaderboard is made from."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from math import fsum
from typing import Any, NamedTuple, TypeAlias

from ludus.bench.outcome import counted_score, without_copies
from ludus.bench.result import OutcomeKind, Result, Verified
from ludus.bench.store.board import BoardScale

__all__ = ["SOURCE", "ScaleOf", "ScoreTally", "identity_of", "is_uneven", "tally_results"]

ScaleOf: TypeAlias = Callable[[str, str], BoardScale]
"""Gives what scores are measured with, for a suite's name and digest."""


class ScoreTally(NamedTuple):
    """Results that differ in seed, run and score only: how many, and their scores' sum and range.

    Scores are what they count as: one that is worse than its task's floor is the floor. ``total``,
    ``lowest`` and ``highest`` are ``None`` for faults. Copies of a result count once.
    ``identities`` are those of the agents that the results say they are of; a store knows them of
    runs that a trusted statement is about. ``is_uneven`` if some units of the series have
    more results than others.
    """

    suite: str
    suite_digest: str
    agent: str
    env: str
    budget: str
    source_hash: str | None
    outcome: OutcomeKind
    verified: Verified
    results: int
    total: float | None
    lowest: float | None
    highest: float | None
    identities: frozenset[str] = frozenset()
    is_uneven: bool = False


SOURCE = ScoreTally._fields.index("source_hash")
_KEY = ScoreTally._fields.index("results")


def tally_results(results: Iterable[Result], scale: ScaleOf | None = None) -> list[ScoreTally]:
    """Return the tallies of results, as a store makes them of its rows."""
    scores: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    counts: Counter[tuple[Any, ...]] = Counter()
    identities: dict[tuple[Any, ...], set[str]] = defaultdict(set)
    units: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for one in without_copies(results):
        key = tuple(getattr(one, name) for name in ScoreTally._fields[:_KEY])
        counts[key] += 1
        if one.outcome != "infrastructure_fault":
            units[_without_outcome(key)].append(one.id)
        if (identity := identity_of(one)) is not None:
            identities[key].add(identity)
        if one.score is None:
            continue
        measure = BoardScale() if scale is None else scale(one.suite, one.suite_digest)
        floor, lower = measure.floors.get(one.env), measure.falls(one.env)
        counted = counted_score(one.outcome, one.score, floor=floor, lower=lower)
        scores[key].append(one.score if counted is None else counted)
    made = []
    for key, count in counts.items():
        found = scores.get(key)
        numbers = (fsum(found), min(found), max(found)) if found else (None, None, None)
        uneven = is_uneven(units[_without_outcome(key)])
        made.append(ScoreTally._make((*key, count, *numbers, frozenset(identities[key]), uneven)))
    return made


def is_uneven(units: Iterable[str]) -> bool:
    """Tell whether some units occur more often than others."""
    return len(set(Counter(units).values())) > 1


def _without_outcome(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*key[: SOURCE + 1], *key[SOURCE + 2 :])


def identity_of(result: Result) -> str | None:
    """Return what a result says about the agent beside its name: its code and options."""
    identity = result.extra.get("agent")
    return None if identity is None else json.dumps(identity, sort_keys=True)
