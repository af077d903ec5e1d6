"""Scores of one agent, as every figure takes them: runs of tasks, not always equally many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "FloatArray",
    "Scores",
    "ScoresLike",
    "as_scores",
    "iqm",
    "joined",
    "mean",
    "median",
    "optimality_gap",
    "probability_of_improvement",
    "same_tasks",
    "task_means",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Runs, task after task, on the last axis; axes before it are resamples.

    Attributes:
        values: of shape ``(..., runs of all tasks)``.
        sizes: runs of each task, at least one.
        names: of the tasks, sorted, or ``None`` where they came as a matrix.
        scored: of each task, the runs that have a score of their own; the others are faults that
            count as the floor. ``None`` if all have.
    """

    values: FloatArray
    sizes: tuple[int, ...]
    names: tuple[str, ...] | None = field(default=None, kw_only=True)
    scored: tuple[int, ...] | None = field(default=None, kw_only=True)

    @property
    def starts(self) -> npt.NDArray[np.intp]:
        """Where each task begins on the last axis."""
        return np.cumsum((0, *self.sizes[:-1]), dtype=np.intp)

    @property
    def even(self) -> bool:
        """Whether every task has the same number of runs."""
        return min(self.sizes) == max(self.sizes)

    @property
    def weights(self) -> FloatArray:
        """Weight of each run: tasks count the same, however many runs they have."""
        sizes = np.asarray(self.sizes)
        return np.repeat(1.0 / (len(sizes) * sizes), sizes)

    def of_task(self, index: int) -> FloatArray:
        """Give the runs of one task, with the axes before them."""
        start = int(self.starts[index])
        return self.values[..., start : start + self.sizes[index]]


ScoresLike: TypeAlias = "Scores | npt.ArrayLike | Mapping[str, npt.ArrayLike]"


def as_scores(scores: ScoresLike) -> Scores:
    """Read scores where higher is better.

    Args:
        scores: a matrix of runs × tasks, a vector of the runs of one task, or, where tasks have
            different numbers of runs, a mapping from a task's name to the vector of its runs.

    Raises:
        ValueError: if there are none, or one is not finite. A run without a score is not a NaN:
            leave it out, or count it as the worst, and say which.
    """
    if isinstance(scores, Scores):
        return scores
    if isinstance(scores, Mapping):
        names = tuple(sorted(scores))
        columns = [np.asarray(scores[name], dtype=np.float64).reshape(-1) for name in names]
        empty = [name for name, column in zip(names, columns, strict=True) if not column.size]
        if empty or not names:
            raise ValueError(f"Tasks without a single run have no figure; leave out {empty}.")
        values, sizes = np.concatenate(columns), tuple(column.size for column in columns)
        return Scores(_finite(values), sizes, names=names)
    matrix = np.asarray(scores, dtype=np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(
            f"Scores are a matrix of runs × tasks, or a mapping from task to runs, with at least "
            f"one of each; got an array of shape {matrix.shape}."
        )
    runs, tasks = matrix.shape
    return Scores(_finite(matrix.T.reshape(-1)), (runs,) * tasks)


def joined(tasks: Mapping[str, tuple[npt.ArrayLike, int]]) -> Scores:
    """Join the runs of tasks, each with the number of its runs that have a score of their own.

    Raises:
        ValueError: as :func:`as_scores` does.
    """
    found = as_scores({name: runs for name, (runs, _) in tasks.items()})
    return replace(found, scored=tuple(tasks[name][1] for name in sorted(tasks)))


def same_tasks(x: Scores, y: Scores) -> None:
    """Make sure that two agents were scored on the same tasks.

    Raises:
        ValueError: if they were not.
    """
    named = x.names is not None and y.names is not None
    if len(x.sizes) != len(y.sizes) or (named and x.names != y.names):
        raise ValueError(
            f"Both have to be scored on the same tasks; got {x.names or len(x.sizes)} and "
            f"{y.names or len(y.sizes)}. Leave out the tasks that one of them lacks, and say so."
        )


def task_means(scores: Scores) -> FloatArray:
    """Average the runs of each task: shape ``(..., tasks)``."""
    if scores.even:
        shape = (*scores.values.shape[:-1], len(scores.sizes), scores.sizes[0])
        means: FloatArray = scores.values.reshape(shape).mean(axis=-1)
        return means
    sums: FloatArray = np.add.reduceat(scores.values, scores.starts, axis=-1)
    return np.asarray(sums / np.asarray(scores.sizes))


def _finite(values: FloatArray) -> FloatArray:
    if not np.isfinite(values).all():
        raise ValueError(
            "Scores have to be finite. A run without a score is no NaN: leave it out (give a "
            "mapping from task to runs) or count it as the worst score, and say which."
        )
    return values


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
