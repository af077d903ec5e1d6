"""Stratified bootstrap: runs are drawn again within each task, tasks stay as they are.

The interval answers: where would the figure lie, had the same tasks been run with other seeds?
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ludus.bench.statistics.scores import FloatArray, Scores, ScoresLike, as_scores, task_means

__all__ = [
    "NOTHING",
    "Estimate",
    "Profile",
    "ProfileKind",
    "Seed",
    "Statistic",
    "bootstrap",
    "estimate",
    "has_spread",
    "mean_estimates",
    "number",
    "performance_profile",
    "profile_values",
    "resample",
    "resampled_means",
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


ProfileKind = Literal["runs", "tasks"]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A performance profile with its pointwise band.

    Attributes:
        taus: thresholds, ascending.
        shares: share above each threshold, falling from at most 1.
        low: lower end of the band, ``None`` where a task has a single run.
        high: upper end, ``None`` likewise.
        n: number of runs behind it.
        confidence: of the band, at each threshold by itself.
        kind: what the share is of: ``"runs"``, or ``"tasks"`` by their mean.
    """

    taus: FloatArray
    shares: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    n: int
    confidence: float
    kind: ProfileKind


def profile_values(
    scores: ScoresLike, taus: npt.ArrayLike, kind: ProfileKind = "runs"
) -> FloatArray:
    """Share of runs (or of tasks, by the mean of their runs) that score above each threshold.

    Raises:
        ValueError: if the thresholds do not ascend, or ``kind`` is neither.
    """
    pool = as_scores(scores)
    thresholds = _ascending(taus)
    if kind == "tasks":
        values, weights = task_means(pool), None
    elif kind == "runs":
        values, weights = pool.values, None if pool.even else pool.weights
    else:
        raise ValueError(f"A profile is over 'runs' or 'tasks'; got {kind!r}.")
    *lead, count = values.shape
    rows, bins = int(np.prod(lead)), thresholds.size + 1
    # A score counts for every threshold below it, so it is enough to count scores between
    # neighbouring thresholds and to add up from above.
    beaten = np.searchsorted(thresholds, values.reshape(rows, count), side="left")
    places = (beaten + bins * np.arange(rows)[:, None]).reshape(-1)
    spread = None if weights is None else np.tile(weights, rows)
    counted = np.bincount(places, weights=spread, minlength=rows * bins).reshape(rows, bins)
    above = counted[:, ::-1].cumsum(axis=1)[:, -2::-1]
    shares = above / count if weights is None else np.minimum(above, 1.0)
    return np.asarray(shares.reshape(*lead, thresholds.size))


def performance_profile(
    scores: ScoresLike,
    taus: npt.ArrayLike,
    *,
    kind: ProfileKind = "runs",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: Seed = 0,
) -> Profile:
    """Compute a performance profile with its band.

    Raises:
        ValueError: as :func:`profile_values` and the bootstrap do.
    """
    pool, thresholds = as_scores(scores), _ascending(taus)
    statistic = partial(profile_values, taus=thresholds, kind=kind)
    shares, quantiles = statistic(pool), tails(confidence)
    low, high = None, None
    if has_spread(pool):
        draws = bootstrap(statistic, pool, resamples=resamples, seed=seed)
        low, high = np.quantile(draws, quantiles, axis=0)
    return Profile(thresholds, shares, low, high, pool.values.size, confidence, kind)


def _ascending(taus: npt.ArrayLike) -> FloatArray:
    thresholds = np.asarray(taus, dtype=np.float64)
    if thresholds.ndim != 1 or not thresholds.size or not (np.diff(thresholds) > 0).all():
        raise ValueError("Thresholds have to be a vector of ascending numbers.")
    return thresholds


_MEANS_AT_ONCE = 2**22


def mean_estimates(
    groups: Sequence[FloatArray], scored: Sequence[int], *, resamples: int, confidence: float
) -> list[Estimate | None]:
    """The mean of every group with its bootstrap interval; None for an empty group.

    ``scored`` counts the runs of each group with a score of their own: without any, the group is
    the floor, several times, and has no interval.

    The same numbers as :func:`ludus.bench.statistics.bootstrap.estimate` gives group by group with
    its default seed: there, too, groups of one size are all resampled by the same draws.
    """
    by_size: dict[int, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        by_size[len(group)].append(index)
    found: list[Estimate | None] = [None] * len(groups)
    for size, members in by_size.items():
        if size == 0:
            continue
        block = max(1, _MEANS_AT_ONCE // resamples)
        for start in range(0, len(members), block):
            part = members[start : start + block]
            values = np.stack([groups[index] for index in part])
            low, high = _ends(values, resamples, confidence)
            for row, index in enumerate(part):
                alone = size == 1 or not scored[index]
                found[index] = Estimate(
                    float(values[row].mean()),
                    None if alone else float(low[row]),
                    None if alone else float(high[row]),
                    size,
                    confidence,
                )
    return found


def resampled_means(values: FloatArray, resamples: int) -> FloatArray:
    """Means of ``(groups, n)`` under resampling of the ``n``: shape ``(resamples, groups)``.

    The mean of a resample is a weighted mean, so that one product of matrices does for all groups.
    """
    n = values.shape[1]
    drawn = (np.random.default_rng(0).random((resamples, n)) * n).astype(np.intp)
    places = drawn + n * np.arange(resamples)[:, None]
    counts = np.bincount(places.reshape(-1), minlength=resamples * n).reshape(resamples, n)
    return np.asarray((counts / n) @ values.T)


def _ends(values: FloatArray, resamples: int, confidence: float) -> FloatArray:
    if values.shape[1] == 1:
        return np.zeros((2, len(values)))
    return np.asarray(np.quantile(resampled_means(values, resamples), tails(confidence), axis=0))
