"""Metrics by name, for tasks that have no grader of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["METRICS", "Metric"]

_Array: TypeAlias = NDArray[Any]
_CLIP = 1e-15


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        predicts: What the prediction file holds: the ``"label"`` itself, a ``"number"``, or the
            ``"probability"`` of each class.
        compute: Takes what is true and what was predicted, row by row, and returns the score.
            Labels are texts; for probabilities, the true class is the number of a column.
    """

    predicts: Literal["label", "number", "probability"]
    compute: Callable[[_Array, _Array], float]


def _accuracy(truth: _Array, found: _Array) -> float:
    return float(np.mean(truth == found))


def _balanced_accuracy(truth: _Array, found: _Array) -> float:
    return float(np.mean([np.mean(found[truth == one] == one) for one in np.unique(truth)]))


def _f1_of(truth: _Array, found: _Array, one: Any) -> float:
    both = float(np.sum((truth == one) & (found == one)))
    total = float(np.sum(truth == one) + np.sum(found == one))
    return 2 * both / total if total else 0.0


def _f1(truth: _Array, found: _Array) -> float:
    """Of the class 1 where the classes are 0 and 1, else the mean over the true classes."""
    classes = np.unique(truth)
    if set(classes.tolist()) <= {"0", "1"}:
        return _f1_of(truth, found, "1")
    return _macro_f1(truth, found)


def _macro_f1(truth: _Array, found: _Array) -> float:
    return float(np.mean([_f1_of(truth, found, one) for one in np.unique(truth)]))


def _mse(truth: _Array, found: _Array) -> float:
    return float(np.mean((truth - found) ** 2))


def _r2(truth: _Array, found: _Array) -> float:
    spread = float(np.sum((truth - truth.mean()) ** 2))
    missed = float(np.sum((truth - found) ** 2))
    return 1.0 - missed / spread if spread else float(missed == 0)


def _mape(truth: _Array, found: _Array) -> float:
    return float(np.mean(np.abs(truth - found) / np.maximum(np.abs(truth), _CLIP)))


def _rmsle(truth: _Array, found: _Array) -> float:
    logs = np.log1p(np.maximum(truth, 0)), np.log1p(np.maximum(found, 0))
    return float(np.sqrt(_mse(*logs)))


def _log_loss(truth: _Array, found: _Array) -> float:
    chances = np.clip(found, _CLIP, None)
    chances = chances / chances.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(chances[np.arange(len(truth)), truth])))


METRICS: dict[str, Metric] = {
    "accuracy": Metric("label", _accuracy),
    "balanced_accuracy": Metric("label", _balanced_accuracy),
    "cross_entropy": Metric("probability", _log_loss),
    "error": Metric("label", lambda truth, found: 1.0 - _accuracy(truth, found)),
    "f1": Metric("label", _f1),
    "log_loss": Metric("probability", _log_loss),
    "loss": Metric("probability", _log_loss),
    "macro_f1": Metric("label", _macro_f1),
    "mae": Metric("number", lambda truth, found: float(np.mean(np.abs(truth - found)))),
    "mape": Metric("number", _mape),
    "mse": Metric("number", _mse),
    "r2": Metric("number", _r2),
    "rmse": Metric("number", lambda truth, found: float(np.sqrt(_mse(truth, found)))),
    "rmsle": Metric("number", _rmsle),
}
"""By the name that a task's ``evaluation.metric`` has, in lower case with ``_``."""
