"""Performance profiles: which share of runs, or of tasks, scores above a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from ludus.bench.statistics.bootstrap import Seed, bootstrap, has_spread, tails
from ludus.bench.statistics.scores import FloatArray, ScoresLike, as_scores, task_means

__all__ = ["Profile", "ProfileKind", "performance_profile", "profile_values"]

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
