"""Counts and sums of scores: what a leaderboard is made from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import fsum
from typing import Any, NamedTuple

from ludus.bench.result import Outcome, Result, Verified

__all__ = ["SOURCE", "Tally", "tally_results"]


class Tally(NamedTuple):
    """Results that differ in seed, run and score only: how many, and their scores' sum and range.

    ``total``, ``lowest`` and ``highest`` are ``None`` for faults.
    """

    suite: str
    suite_digest: str
    agent: str
    env: str
    budget: str
    source_hash: str | None
    outcome: Outcome
    verified: Verified
    results: int
    total: float | None
    lowest: float | None
    highest: float | None


SOURCE = Tally._fields.index("source_hash")
_KEY = Tally._fields.index("results")


def tally_results(results: Iterable[Result]) -> list[Tally]:
    """Return the tallies of results, as a store makes them of its rows."""
    scores: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    counts: Counter[tuple[Any, ...]] = Counter()
    for one in results:
        key = tuple(getattr(one, name) for name in Tally._fields[:_KEY])
        counts[key] += 1
        if one.score is not None:
            scores[key].append(one.score)
    made = []
    for key, count in counts.items():
        found = scores.get(key)
        numbers = (fsum(found), min(found), max(found)) if found else (None, None, None)
        made.append(Tally._make((*key, count, *numbers)))
    return made
