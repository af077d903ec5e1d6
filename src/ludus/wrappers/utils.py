"""Helper functions of the wrappers, at Gymnasium's module path."""

from __future__ import annotations

from ludus.wrappers.rescaling import rescale_box
from ludus.wrappers.running_statistics import RunningMeanStd, update_mean_var_count_from_moments
from ludus.wrappers.zeros import create_zero_array

__all__ = [
    "RunningMeanStd",
    "create_zero_array",
    "rescale_box",
    "update_mean_var_count_from_moments",
]
