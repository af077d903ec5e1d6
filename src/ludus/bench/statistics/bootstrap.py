"""Stratified bootstrap: runs are drawn again within each task, tasks stay as they are.

The interval answers: where would the figure lie, had the same tasks been run with other seeds?
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ludus.bench.statistics.scores import FloatArray, Scores, ScoresLike, as_scores

__all__ = [
    "NOTHING",
    "Estimate",
    "Seed",
    "Statistic",
    "bootstrap",
    "estimate",
    "has_spread",
    "number",
    "resample",
    "tails",
]


NOTHING = "—"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, the runs behind it, and its confidence interval where there can be one.

    Attributes:
        value: the figure itself.
        low: lower end of the interval; ``None`` where a task has a single run, which says nothing
            about how much runs differ.
        high: upper end, ``None`` likewise.
        n: number of runs that the figure is made of.
        confidence: of the interval.

    Raises:
        ValueError: if half an interval is given, or any at ``n = 1``.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError("An interval has two ends; give both, or None for both.")
        if self.n < 1:
            raise ValueError(f"A figure needs at least one run; got n = {self.n}.")
        if self.n == 1 and self.low is not None:
            raise ValueError("One run has no interval; give None for both ends.")
        if not 0 < self.confidence < 1:
            raise ValueError(f"Confidence lies between 0 and 1; got {self.confidence}.")

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or ``None``."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        ends = self.interval
        if ends is None:
            return f"{number(self.value)} (n = {self.n}, no interval)"
        return f"{number(self.value)} [{number(ends[0])}, {number(ends[1])}] (n = {self.n})"


def number(value: float | None) -> str:
    """Write a number with four significant digits, and ``None`` as a dash."""
    if value is None or not math.isfinite(value):
        return NOTHING if value is None else str(value)
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= magnitude < 9:
        return f"{value:.3e}"
    text = f"{value:.{max(0, 3 - magnitude)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


Statistic: TypeAlias = Callable[..., FloatArray]
Seed: TypeAlias = "int | np.random.Generator"

_VALUES_AT_ONCE = 2**20


def resample(scores: Scores, count: int, rng: np.random.Generator) -> Scores:
    """Draw the runs of every task again, with replacement: values of shape ``(count, runs)``."""
    sizes = np.asarray(scores.sizes)
    offsets, spans = np.repeat(scores.starts, sizes), np.repeat(sizes, sizes)
    drawn = (rng.random((count, scores.values.size)) * spans).astype(np.intp)
    return Scores(scores.values[drawn + offsets], scores.sizes, names=scores.names)


def bootstrap(
    statistic: Statistic, *scores: ScoresLike, resamples: int = 2000, seed: Seed = 0
) -> FloatArray:
    """Compute a figure over and over on resampled runs.

    Args:
        statistic: takes as many :class:`Scores` as are given and works on their last axis.
        scores: of one agent each; agents are resampled independently.
        resamples: how often.
        seed: of the resampling, or a generator.

    Returns:
        Shape ``(resamples, ...)``, the rest as the statistic gives it.

    Raises:
        ValueError: if scores are missing or not finite, or ``resamples`` is not positive.
    """
    if resamples < 1:
        raise ValueError(f"At least one resample is needed; got {resamples}.")
    pools = [as_scores(one) for one in scores]
    rng = np.random.default_rng(seed)
    rows = max(1, _VALUES_AT_ONCE // sum(pool.values.size for pool in pools))
    blocks = []
    for done in range(0, resamples, rows):
        count = min(rows, resamples - done)
        blocks.append(statistic(*(resample(pool, count, rng) for pool in pools)))
    return np.concatenate(blocks)


def estimate(
    statistic: Statistic,
    *scores: ScoresLike,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: Seed = 0,
) -> Estimate:
    """Compute a figure with its percentile interval; ``n`` counts the runs of all ``scores``.

    There is no interval where a task has a single run, or nothing but faults: its resamples are
    all the same, and the interval would be too narrow by an unknown amount.

    Raises:
        ValueError: as :func:`bootstrap` does.
    """
    pools = [as_scores(one) for one in scores]
    value, n = float(statistic(*pools)), sum(pool.values.size for pool in pools)
    if not all(map(has_spread, pools)):
        return Estimate(value, None, None, n, confidence)
    draws = bootstrap(statistic, *pools, resamples=resamples, seed=seed)
    low, high = np.quantile(draws, tails(confidence))
    return Estimate(value, float(low), float(high), n, confidence)


def has_spread(scores: Scores) -> bool:
    """Whether every task has two runs and a score, so that an interval means something."""
    return min(scores.sizes) > 1 and (scores.scored is None or min(scores.scored) > 0)


def tails(confidence: float) -> tuple[float, float]:
    """Quantiles at which an interval of that confidence ends."""
    if not 0 < confidence < 1:
        raise ValueError(f"Confidence lies between 0 and 1; got {confidence}.")
    return (1 - confidence) / 2, (1 + confidence) / 2
