"""What an outcome counts as: the one place where it becomes a number.

A scored unit counts as its score, an agent's fault as the floor of its task, an infrastructure
fault not at all. No score counts as less than the floor, so failing never pays. Tables, reports,
leaderboards, statistics, rewards and exports all call these functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ludus.bench.result import OutcomeKind, Result

__all__ = [
    "LARGEST_SCORE",
    "counted_score",
    "fault_floor",
    "normalised_score",
    "with_counted",
    "worst_of",
]

LARGEST_SCORE = 1e150
"""Scores beyond count as this one, so that no sum and no normalised score overflows."""


def counted_score(
    outcome: OutcomeKind, score: float | None, *, floor: float | None, lower: bool = False
) -> float | None:
    """Return the score that an outcome counts as, on the task's own scale.

    Args:
        outcome: Of the unit.
        score: Of a scored unit; ``None`` after a fault.
        floor: The least that counts, see :func:`fault_floor`; ``None`` if nothing is known.
        lower: Whether lower scores are better.

    Returns:
        ``None`` for an infrastructure fault, and for an agent's fault without a floor.
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
    """Return what faults of an agent count as in a task.

    Only the last rule looks at other agents, and it applies only where a task declares nothing.

    Args:
        declared: The task's floor; if there is one, it decides.
        zero: The reference score that becomes 0; it decides next, unless a score of the agent's
            own is worse.
        own: The agent's scores in the task.
        seen: Everybody's scores in the task; the worst of them decides if nothing is declared.
        lower: Whether lower scores are better.
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
    """Return a result that tells readers of its JSON what it counts as, as ``extra["counted"]``.

    Nothing in Ludus reads the number back: a file could claim any. Without a declared floor the
    number depends on other results, and is left out.
    """
    if floor is None:
        return result
    counted = counted_score(result.outcome, result.score, floor=floor, lower=lower)
    return replace(result, extra={**result.extra, "counted": counted})
