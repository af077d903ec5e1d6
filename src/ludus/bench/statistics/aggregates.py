"""One number for many runs of many tasks; higher scores are better, every task counts the same.

Each takes a matrix of runs × tasks or a mapping from task to runs (see
:func:`~ludus.bench.statistics.scores.as_scores`), and resamples in axes before them.
"""

from __future__ import annotations

import numpy as np

from ludus.bench.statistics.scores import (
    FloatArray,
    Scores,
    ScoresLike,
    as_scores,
    same_tasks,
    task_means,
)

__all__ = ["iqm", "mean", "median", "optimality_gap", "probability_of_improvement"]

_PAIRS_AT_ONCE = 2**22


def mean(scores: ScoresLike) -> FloatArray:
    """Mean over tasks of the mean over runs."""
    return np.asarray(task_means(as_scores(scores)).mean(axis=-1))


def median(scores: ScoresLike) -> FloatArray:
    """Median over tasks of the mean over runs."""
    return np.asarray(np.median(task_means(as_scores(scores)), axis=-1))


def iqm(scores: ScoresLike) -> FloatArray:
    """Interquartile mean: of all runs of all tasks, without the lowest and highest quarter.

    Of ``n`` runs, ``n // 4`` are dropped at either end. Where tasks have different numbers of
    runs, a run weighs the less the more its task has, and the same share of weight is dropped.
    """
    pool = as_scores(scores)
    count = pool.values.shape[-1]
    cut = count // 4
    if pool.even:
        ordered = np.sort(pool.values, axis=-1)  # in NumPy 2 faster than a partition
        return np.asarray(ordered[..., cut : count - cut].mean(axis=-1))
    order = np.argsort(pool.values, axis=-1)
    weights = pool.weights[order]
    upto = np.cumsum(weights, axis=-1)
    share = cut / count
    kept = np.clip(np.minimum(upto, 1 - share) - np.maximum(upto - weights, share), 0, None)
    total = (kept * np.take_along_axis(pool.values, order, axis=-1)).sum(axis=-1)
    return np.asarray(total / kept.sum(axis=-1))


def optimality_gap(scores: ScoresLike, target: float = 1.0) -> FloatArray:
    """How far runs stay below ``target`` on average; what is above it does not make up for it."""
    pool = as_scores(scores)
    capped = Scores(np.minimum(pool.values, target), pool.sizes, names=pool.names)
    return np.asarray(target - task_means(capped).mean(axis=-1))


def probability_of_improvement(x: ScoresLike, y: ScoresLike) -> FloatArray:
    """Probability that a run of ``x`` beats a run of ``y`` on a random task; a tie is half a win.

    Raises:
        ValueError: if the two were not scored on the same tasks.
    """
    first, second = as_scores(x), as_scores(y)
    same_tasks(first, second)
    wins = [
        _share_of_wins(first.of_task(task), second.of_task(task))
        for task in range(len(first.sizes))
    ]
    return np.asarray(np.mean(wins, axis=0))


def _share_of_wins(x: FloatArray, y: FloatArray) -> FloatArray:
    pairs = x.shape[-1] * y.shape[-1]
    if x.ndim == 1:
        return _wins(x, y)
    rows = max(1, _PAIRS_AT_ONCE // pairs)
    blocks = [_wins(x[at : at + rows], y[at : at + rows]) for at in range(0, len(x), rows)]
    return np.concatenate(blocks)


def _wins(x: FloatArray, y: FloatArray) -> FloatArray:
    left, right = x[..., :, None], y[..., None, :]
    greater = np.count_nonzero(left > right, axis=(-2, -1))
    equal = np.count_nonzero(left == right, axis=(-2, -1))
    return np.asarray((greater + 0.5 * equal) / (x.shape[-1] * y.shape[-1]))
