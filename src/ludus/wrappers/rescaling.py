"""The affine map from one Box to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.spaces import Box

__all__ = ["Bound", "rescale_box"]

Array = npt.NDArray[Any]
Bound = np.floating[Any] | np.integer[Any] | float | int | Array

# The widest float of the platform: the span of a float64 Box may exceed the largest float64.
_WIDEST = np.longdouble


def rescale_box(
    box: Box, new_min: Bound, new_max: Bound
) -> tuple[Box, Callable[[Array], Array], Callable[[Array], Array]]:
    """Return a Box with new bounds and the affine maps between it and ``box``.

    An infinite bound can only be mapped to itself.

    Returns:
        The new Box, the map from the old one to the new one, and its inverse.

    Raises:
        TypeError: ``box`` is no Box, or a bound is neither a number nor an array.
        ValueError: A bound has the wrong shape, the wrong infinities, or the wrong order.
    """
    if not isinstance(box, Box):
        raise TypeError(f"`box` must be a Box space, got {type(box)}.")
    low = _bound("new_min", new_min, box.shape)
    high = _bound("new_max", new_max, box.shape)
    for new, old in ((low, box.low), (high, box.high)):
        infinite = np.isinf(new) | np.isinf(old)
        if not np.all((new == old)[infinite]):
            raise ValueError(
                "An unbounded component stays unbounded: where a bound is infinite, the new one "
                f"must be the same. Cannot map {old} onto {new}."
            )
    if not np.all(low <= high):
        raise ValueError(f"`new_min` exceeds `new_max` somewhere: {low}, {high}.")
    if not np.all(box.low <= box.high):
        raise ValueError(f"box.low exceeds box.high somewhere: {box.low}, {box.high}.")

    line = _Line(*_coefficients(box, low, high))
    new_box = Box(low=new_min, high=new_max, shape=box.shape, dtype=box.dtype)
    return new_box, line.forward, line.backward


@dataclass(frozen=True, slots=True)
class _Line:
    """An affine map. Unlike closures its methods can be pickled."""

    gradient: Array
    intercept: Array

    def forward(self, value: Array) -> Array:
        scaled: Array = self.gradient * value
        scaled += self.intercept
        return scaled

    def backward(self, value: Array) -> Array:
        shifted: Array = value - self.intercept
        return shifted / self.gradient


def _coefficients(box: Box, low: Array, high: Array) -> tuple[Array, Array]:
    """Return gradient and intercept; with one finite side the map only shifts."""
    low_finite, high_finite = np.isfinite(low), np.isfinite(high)
    bounded = low_finite & high_finite
    span = box.high[bounded].astype(_WIDEST) - box.low[bounded].astype(_WIDEST)

    gradient = np.ones_like(low, dtype=box.dtype)
    gradient[bounded] = (high[bounded] - low[bounded]) / span
    intercept = np.zeros_like(low, dtype=box.dtype)
    intercept[high_finite] = high[high_finite] - box.high[high_finite]
    intercept[low_finite] = gradient[low_finite] * -box.low[low_finite] + low[low_finite]
    return gradient, intercept


def _bound(name: str, value: Bound, shape: tuple[int, ...]) -> Array:
    if not isinstance(value, np.ndarray):
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise TypeError(
                f"`{name}` must be an integer, a float or a numpy array, got {type(value)}."
            )
        return np.full(shape, value)
    if value.shape != shape:
        raise ValueError(f"{name}.shape must be the Box's {shape}, got {value.shape}.")
    return value
