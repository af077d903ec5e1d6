"""Running mean and variance of a stream of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import State
from ludus.core.state import copy_plain
from ludus.errors import StateError
from ludus.wrappers.saved_fields import SavesObjects

__all__ = [
    "FreezableStatistics",
    "RunningMeanStd",
    "add_sample",
    "update_mean_var_count_from_moments",
]

_STATISTICS = ("mean", "var", "count")


class RunningMeanStd:
    """Running mean, variance and count of samples.

    The initial mean 0 and variance 1 have the weight ``epsilon``, so that the first division is
    defined.

    Example:
        >>> statistics = RunningMeanStd(shape=(2,))
        >>> statistics.update(np.array([[0.0, 2.0], [4.0, 2.0]]))
        >>> statistics.mean.round(2)
        array([2., 2.])
    """

    mean: Any
    var: Any
    count: float

    def __init__(
        self,
        epsilon: float = 1e-4,
        shape: tuple[int, ...] = (),
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self.mean = np.zeros(shape, dtype=dtype)
        self.var = np.ones(shape, dtype=dtype)
        self.count = epsilon

    def update(self, x: npt.NDArray[Any]) -> None:
        """Add a batch of samples, stacked along the first axis."""
        self.update_from_moments(np.mean(x, axis=0), np.var(x, axis=0), x.shape[0])

    def update_from_moments(self, batch_mean: Any, batch_var: Any, batch_count: int) -> None:
        """Add a batch known by its mean, variance and size."""
        self.mean, self.var, self.count = update_mean_var_count_from_moments(
            self.mean, self.var, self.count, batch_mean, batch_var, batch_count
        )

    def get_state(self) -> State:
        """Return the statistics as plain data."""
        return {name: copy_plain(getattr(self, name), name) for name in _STATISTICS}

    def set_state(self, state: State) -> None:
        """Restore the state that :meth:`get_state` returned.

        Raises:
            StateError: A statistic is missing.
        """
        if not isinstance(state, dict) or any(name not in state for name in _STATISTICS):
            raise StateError(f"Running statistics have {_STATISTICS}; got {state!r}.")
        for name in _STATISTICS:
            setattr(self, name, copy_plain(state[name], name))


class FreezableStatistics(SavesObjects):
    """Mix-in of the normalising wrappers: running statistics that can be frozen and saved."""

    _update_running_mean = True

    @property
    def update_running_mean(self) -> bool:
        """Whether new samples change the statistics."""
        return self._update_running_mean

    @update_running_mean.setter
    def update_running_mean(self, setting: bool) -> None:
        self._update_running_mean = setting


def update_mean_var_count_from_moments(
    mean: Any, var: Any, count: float, batch_mean: Any, batch_var: Any, batch_count: int
) -> tuple[Any, Any, float]:
    """Return mean, variance and count of two sets of samples combined (Chan's algorithm)."""
    total = count + batch_count
    shift = batch_mean - mean
    squares = var * count + batch_var * batch_count
    squares = squares + np.square(shift) * count * batch_count / total
    return mean + shift * batch_count / total, squares / total, total


def add_sample(statistics: RunningMeanStd, sample: npt.ArrayLike) -> None:
    """Add one sample: same result as ``statistics.update([sample])``, several times faster."""
    value: Any = np.asarray(sample)
    if value.dtype.kind in "biu":
        value = value.astype(np.float64)
    # The variance of one value: zero, or NaN where the value is not finite.
    statistics.update_from_moments(value, value - value, 1)
