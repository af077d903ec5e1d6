"""Means with intervals for thousands of small groups at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from ludus.bench.statistics.bootstrap import Estimate, tails
from ludus.bench.statistics.scores import FloatArray

__all__ = ["mean_estimates", "resampled_means"]

_VALUES_AT_ONCE = 2**22


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
        block = max(1, _VALUES_AT_ONCE // resamples)
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
