"""Tests whether a score could have been reached without predicting the grader's draws.

A submission is graded again with draws that nobody knew when it was made. An honest score is one
more sample from the distribution of these fresh scores. The test is one-sided: a recorded score
that is no better than one of the fresh ones is plausible.

* If all fresh scores agree, the grader draws nothing, or the draws make no difference. The recorded
  score must not be better, within the tolerance of sums. (That the recorded draws give the recorded
  score is checked exactly, elsewhere.)
* Otherwise it must lie below the upper end of a prediction interval: with ``n`` fresh scores of
  mean ``m`` and standard deviation ``s``, ``m + t * s * sqrt(1 + 1/n)``, where ``t`` is the
  quantile 0.999 of Student's distribution with ``n - 1`` degrees of freedom, at most 10. For means
  over thousands of games, normality is a good approximation. The best of ``k`` validations of the
  same files is tested with the quantile ``1 - 0.001 / k``.

A recorded score that is better than all fresh ones is compared with twice and then four times as
many: few scores make a wide interval, in which a predicted score might hide. Nothing is called
implausible before the number was doubled and the test repeated with all of them, so that an honest
run fails with a probability below two in a thousand. Where lower is better, signs are changed. A
submission that is refused with fresh draws counts as the floor.

A submission that detects foreign draws and then plays inconsistently widens the interval. Where it
is wider than a twentieth of the way from baseline to threshold, only ranks decide. One score in
twenty-one is better than twenty others by luck alone, so up to 140 more are drawn, in a quarter of
an hour: if three of them are at least as good as the recorded score, it is plausible. Otherwise the
test is inconclusive, and the result stays a claim. That happens to 1.6 % of honest scores, and to
more of those that were the best of several validations.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev
from typing import Literal

from ludus.research.task.reward import Scale

__all__ = ["FRESH", "Comparison", "compare"]

FRESH = 5
"""Gradings with fresh draws, where nothing else is asked for."""

_RELATIVE, _ABSOLUTE = 1e-6, 1e-9
_WIDEST = 0.05
_ROUNDS, _MOST_ROUNDS = 4, 32
_AS_GOOD = 3
_SECONDS = 900.0
_MOST_FREEDOM = 10
# Quantiles 0.999 of Student's distribution, for up to 8 degrees of freedom.
_T = (318.3, 22.33, 10.21, 7.173, 5.893, 5.208, 4.785, 4.501)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing a score with fresh ones.

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
    recorded: float,
    draw: Callable[[], float],
    scale: Scale,
    *,
    fresh: int = FRESH,
    tries: int = 1,
) -> Comparison:
    """Compare a score with fresh ones.

    Args:
        recorded: The score.
        draw: Grades with fresh draws and returns the score.
        scale: Scale of the scores.
        fresh: Number of fresh scores to begin with, at least 2.
        tries: Number of gradings of the same files of which the recorded score is the best.

    Raises:
        ValueError: ``fresh`` is too small.
    """
    if fresh < 2:
        raise ValueError(f"fresh is {fresh}; expected at least 2 to tell how scores spread.")
    found: list[float] = []
    for rounds in (1, 2, _ROUNDS):
        found += [draw() for _ in range(rounds * fresh - len(found))]
        told = _judged(recorded, found, scale, tries)
        if told.is_ordinary or (rounds > 1 and told.verdict == "implausible"):
            break
    return _ranked(told, recorded, draw, scale, fresh) if told.verdict == "unclear" else told


def _ranked(
    told: Comparison, recorded: float, draw: Callable[[], float], scale: Scale, fresh: int
) -> Comparison:
    """Draw more, and call the score plausible if enough of them are as good."""
    found, as_good = list(told.fresh), 0
    end = time.monotonic() + _SECONDS
    while len(found) < _MOST_ROUNDS * fresh and time.monotonic() < end:
        found.append(draw())
        as_good += not scale.better(recorded, found[-1]) or _same(recorded, found[-1])
        if as_good == _AS_GOOD:
            seen = _seen(recorded, found)
            return Comparison("plausible", f"{seen}; {as_good} are as good", tuple(found), True)
    detail = f"{_seen(recorded, found)}; they spread too much to tell"
    return Comparison("unclear", detail, tuple(found))


def _judged(recorded: float, fresh: Sequence[float], scale: Scale, tries: int) -> Comparison:
    told, seen = tuple(fresh), _seen(recorded, fresh)
    sign = 1.0 if scale.direction == "higher" else -1.0
    scores, score = [sign * one for one in fresh], sign * recorded
    count, best = len(scores), max(scores)
    if score <= best or _same(score, best):
        return Comparison("plausible", seen, told, is_ordinary=True)
    if _same(min(scores), best):
        return Comparison("implausible", f"{seen}, which none of them gives", told)
    spread = stdev(scores)
    reach = _quantile(min(count - 1, _MOST_FREEDOM), tries) * spread * math.sqrt(1 + 1 / count)
    upper = fmean(scores) + reach
    if score > upper:
        return Comparison("implausible", f"{seen}, beyond {sign * upper:.6g}", told)
    way = 0.0 if scale.baseline is None else abs(scale.threshold - scale.baseline)
    if reach > _WIDEST * way:
        return Comparison("unclear", f"{seen}; they spread too much to tell", told)
    return Comparison("plausible", f"{seen}, within {sign * upper:.6g}", told)


def _seen(recorded: float, fresh: Sequence[float]) -> str:
    least, most = min(fresh), max(fresh)
    return f"{len(fresh)} fresh draws gave {least:.6g} to {most:.6g}, the record {recorded:.6g}"


def _quantile(freedom: int, tries: int) -> float:
    """Return the quantile 1 - 0.001 / tries of Student's distribution; 0.999 of few degrees."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = NormalDist().inv_cdf(1 - 0.001 / tries)
    # An expansion in the reciprocal of the degrees of freedom, exact to a thousandth from 9 on.
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom**power for power, term in enumerate(terms, 1)))


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
