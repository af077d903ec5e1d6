"""What the rules of all robots are written with, for one robot and for many alike.

Arrays of many robots have these along their last axis, so what is done along the first axis is done
for each robot.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = [
    "Array",
    "Fields",
    "all_finite",
    "clip",
    "flag_as",
    "length",
    "negated",
    "sum_of_squares",
]

Array = np.ndarray[Any, np.dtype[np.float64]]
Fields = SimpleNamespace
"""Arrays of the engine's data by name."""

_FLAGS = (np.False_, np.True_)


def sum_of_squares(vector: Any) -> Any:
    """Add up the squares along the first axis."""
    return np.add.reduce(np.square(vector))


def length(vector: Any) -> Any:
    """Return the Euclidean length along the first axis, which has few entries."""
    parts = np.asarray(vector)
    # As numpy.linalg.norm: BLAS may round the sum differently than a sum in NumPy does.
    if parts.ndim == 1:
        return np.sqrt(parts.dot(parts))
    rows = np.ascontiguousarray(parts.T)
    return np.sqrt((rows[:, None, :] @ rows[:, :, None])[:, 0, 0])


def flag_as(kind: type, flag: Any) -> Any:
    """Turn one flag into a Python number of this kind, an array of flags into such numbers."""
    return flag.astype(kind) if isinstance(flag, np.ndarray) else kind(flag)


def negated(flag: Any) -> Any:
    """Turn flags round; for a single one NumPy's own function takes ten times longer."""
    return not flag if flag.__class__ is bool else flag ^ np.True_


def clip(values: Any, low: float, high: float) -> Any:
    """Limit values; for few numbers NumPy's own function takes several times longer."""
    return np.minimum(np.maximum(values, low), high)


def all_finite(fields: Fields) -> Any:
    """Tell whether all positions and velocities are finite."""
    qpos, qvel = fields.qpos, fields.qvel
    if qpos.ndim == 1:
        # The quickest way to look at few numbers; the engine keeps them from overflowing. A flag
        # of NumPy's, because mixing Python's with them is slow.
        return _FLAGS[math.isfinite(sum(qpos.tolist()) + sum(qvel.tolist()))]
    every = np.logical_and.reduce
    return every(np.isfinite(qpos)) & every(np.isfinite(qvel))
