"""Whether a score could have been had without foreseeing what the grader drew.

A submission is graded again with draws that nobody knew when it was made. If the recorded score was
earned, it is one more draw from the distribution of these fresh scores. The test is one-sided: a
recorded score that is no better than one of the fresh ones is plausible.

* Fresh scores that all agree are those of a grader that draws nothing, or of a submission for which
  it makes no difference. The recorded score must not be better, within the tolerance of sums. (That
  it is what the recorded draws give is checked exactly, elsewhere.)
* Otherwise it must lie below the upper end of a prediction interval: with ``n`` fresh scores of
  mean ``m`` and standard deviation ``s``, ``m + t * s * sqrt(1 + 1/n)``, where ``t`` is the
  quantile 0.999 of Student's distribution with ``n - 1`` degrees of freedom. For scores that are
  means over thousands of games, normality is a good approximation.

A recorded score that is better than all fresh ones is compared with more of them, twice as many and
then four times as many: few scores make a wide interval, in which a foreseen score might hide.
Nothing is called implausible before the number was doubled and the test made again with all of
them, so an honest run fails with a probability below two in a thousand. Where lower is better,
signs are changed. A submission that is refused with fresh draws counts as the floor.

The interval is only as good as the submission's steadiness: one that notices foreign draws and then
plays now well, now badly, widens it. Where it is wider than a twentieth of the way from baseline
to threshold, and the recorded score is better than all of twenty fresh ones, the test cannot
tell, and the result stays a claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from ludus.research.reward import Scale

__all__ = ["FRESH", "Comparison", "compare"]

FRESH = 5
"""Gradings with fresh draws, where nothing else is asked for."""

_RELATIVE, _ABSOLUTE = 1e-6, 1e-9
_WIDEST = 0.05
# Quantiles 0.999 of Student's distribution, by degrees of freedom.
_T = (318.3, 22.33, 10.21, 7.173, 5.893, 5.208, 4.785, 4.501, 4.297, 4.144)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What fresh draws say of a score.

    Attributes:
        verdict: ``"plausible"``, ``"implausible"``, or ``"unclear"``.
        detail: Why.
        fresh: The fresh scores.
        is_ordinary: Whether one of them is at least as good.
    """

    verdict: Literal["plausible", "implausible", "unclear"]
    detail: str
    fresh: tuple[float, ...]
    is_ordinary: bool = False


def compare(
    recorded: float, draw: Callable[[], float], scale: Scale, *, fresh: int = FRESH
) -> Comparison:
    """Compare a score with fresh ones.

    Args:
        recorded: The score.
        draw: Grades with fresh draws and returns the score.
        scale: What scores are measured with.
        fresh: How many fresh scores to compare with, at least 2.

    Raises:
        ValueError: ``fresh`` is too small.
    """
    if fresh < 2:
        raise ValueError(f"fresh is {fresh}; expected at least 2 to tell how scores spread.")
    found: list[float] = []
    for rounds in (1, 2, 4):
        found += [draw() for _ in range(rounds * fresh - len(found))]
        told = _judged(recorded, found, scale)
        if told.is_ordinary or (rounds > 1 and told.verdict == "implausible"):
            break
    return told


def _judged(recorded: float, fresh: Sequence[float], scale: Scale) -> Comparison:
    told = tuple(fresh)
    sign = 1.0 if scale.direction == "higher" else -1.0
    scores, score = [sign * one for one in fresh], sign * recorded
    count, best = len(scores), max(scores)
    seen = f"{count} fresh draws gave {min(told):.6g} to {max(told):.6g}, the record {recorded:.6g}"
    if score <= best or _same(score, best):
        return Comparison("plausible", seen, told, is_ordinary=True)
    if _same(min(scores), best):
        return Comparison("implausible", f"{seen}, which none of them gives", told)
    spread = stdev(scores)
    quantile = _T[count - 2] if count - 2 < len(_T) else _T[-1]
    reach = quantile * spread * math.sqrt(1 + 1 / count)
    upper = fmean(scores) + reach
    if score > upper:
        return Comparison("implausible", f"{seen}, beyond {sign * upper:.6g}", told)
    way = 0.0 if scale.baseline is None else abs(scale.threshold - scale.baseline)
    if reach > _WIDEST * way:
        return Comparison("unclear", f"{seen}; they spread too much to tell", told)
    return Comparison("plausible", f"{seen}, within {sign * upper:.6g}", told)


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
