"""What an outcome counts as: the one place where it becomes a number.

A scored unit counts as its score, an agent's fault as the floor of its task, an infrastructure
fault not at all. No score counts as less than the floor, so failing never pays. Tables, reports,
leaderboards, statistics, rewards and exports all call these functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ludus.bench.result import OutcomeKind, Result

__all__ = [
    "IDENTITY",
    "LARGEST_SCORE",
    "STANDING",
    "counted_score",
    "fault_floor",
    "normalised_score",
    "with_counted",
    "without_copies",
    "worst_of",
]


LARGEST_SCORE = 1e150
"""Scores beyond count as this one, so that no sum and no normalised score overflows."""


def counted_score(
    outcome: OutcomeKind, score: float | None, *, floor: float | None, lower: bool = False
) -> float | None:
    """Return the score that an outcome counts as, on the task's own scale.

    A scored unit counts as its score, but not as less than the ``floor``; an agent's fault counts
    as the floor. ``None`` for an infrastructure fault, and for an agent's fault without a floor.
    """
    if outcome == "infrastructure_fault":
        return None
    known = [one for one in (floor, score) if one is not None]
    if outcome == "agent_fault" or score is None:
        known = [] if floor is None else [floor]
    if not known:
        return None
    best = min(known) if lower else max(known)
    return min(max(best, -LARGEST_SCORE), LARGEST_SCORE)


def normalised_score(
    outcome: OutcomeKind, score: float | None, *, zero: float, one: float, floor: float | None
) -> float | None:
    """Return :func:`counted_score` as a share of the way from ``zero`` to ``one``.

    Where lower scores are better, ``one`` is the lower number. Without a floor, a fault counts as
    ``zero``.
    """
    least = zero if floor is None and outcome == "agent_fault" else floor
    counted = counted_score(outcome, score, floor=least, lower=one < zero)
    # There is no "-0.000" in any table.
    return None if counted is None else (counted - zero) / (one - zero) + 0.0


def fault_floor(
    *,
    declared: float | None,
    zero: float | None,
    own: Iterable[float],
    seen: Iterable[float],
    lower: bool = False,
) -> float | None:
    """Return the score that an agent's faults count as in a task.

    The ``declared`` floor decides if there is one; else ``zero``, the reference score that becomes
    0, unless one of the agent's ``own`` scores is worse; else the worst of the scores ``seen`` of
    all agents. Only the last rule depends on other agents.
    """
    if declared is not None:
        return declared
    if zero is not None:
        return worst_of([zero, *own], lower=lower)
    return worst_of(seen, lower=lower)


def worst_of(scores: Iterable[float], *, lower: bool = False) -> float | None:
    """Return the worst of some scores, ``None`` if there are none."""
    return max(scores, default=None) if lower else min(scores, default=None)


def with_counted(result: Result, *, floor: float | None, lower: bool = False) -> Result:
    """Return a result with the score that it counts as in ``extra["counted"]``.

    It is for readers of the JSON; Ludus never reads it back. Without a declared floor the number
    depends on other results, and is left out.
    """
    if floor is None:
        return result
    counted = counted_score(result.outcome, result.score, floor=floor, lower=lower)
    return replace(result, extra={**result.extra, "counted": counted})


IDENTITY = ("id", "outcome", "score", "steps")
"""What copies have in common, beside agent, environment, seed and suite. Times and records may
differ: a copier chooses them. A unit that is run again with the same outcome adds nothing."""

STANDING = ("verified", "failed", "claimed")
"""Which of several copies is kept. A copy that failed speaks for its own run only."""

_SAME = ("suite_digest", "agent", "env", "seed", "budget", *IDENTITY)


def without_copies(results: Iterable[Result]) -> list[Result]:
    """Return the results with each piece of work once, in the order of their first mention."""
    kept: dict[tuple[Any, ...], Result] = {}
    for result in results:
        key = tuple(getattr(result, name) for name in _SAME)
        known = kept.setdefault(key, result)
        if STANDING.index(result.verified) < STANDING.index(known.verified):
            kept[key] = result
    return list(kept.values())
