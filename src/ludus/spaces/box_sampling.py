"""Draws samples of a ``Box`` by a plan that is computed once for its bounds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ludus.spaces.box import Box

__all__ = ["SamplingPlan"]

_LARGEST = sys.float_info.max


class Group(NamedTuple):
    """Entries that are drawn from the same kind of distribution.

    ``low`` and ``high`` are the ends of the intervals: one number if all are equal.
    """

    form: str
    where: NDArray[np.intp] | None
    low: float | NDArray[np.float64]
    high: float | NDArray[np.float64]
    size: tuple[int, ...]

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the entries as float64."""
        if self.form == "bounded":
            return rng.uniform(self.low, self.high, self.size)
        if self.form == "wide":
            halves = rng.uniform(self.low, self.high, self.size)
            return np.multiply(halves, 2, out=halves)
        if self.form == "free":
            return rng.normal(size=self.size)
        # In place, because a zero-dimensional result would become a scalar.
        distance = rng.exponential(size=self.size)
        if self.form == "rising":
            distance += self.low
            return distance
        return np.subtract(self.high, distance, out=distance)


class SamplingPlan(NamedTuple):
    """How to draw a sample of a box; valid while its bounds have the same bytes."""

    low_bytes: bytes
    high_bytes: bytes
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, box: Box[Any]) -> SamplingPlan:
        """Return the plan for the current bounds of a box."""
        below, above = box.bounded_below, box.bounded_above
        # The order of the groups determines the samples of a seed, so it must not change.
        forms = {
            "free": ~(below | above),
            "rising": below & ~above,
            "falling": above & ~below,
            "bounded": below & above,
        }
        low, high = box.low.astype(np.float64), _upper_ends(box.high)
        groups = tuple(
            _group(form, chosen, low, high) for form, chosen in forms.items() if chosen.any()
        )
        return cls(box.low.tobytes(), box.high.tobytes(), groups)

    def draw(self, rng: np.random.Generator, box: Box[Any]) -> NDArray[Any]:
        """Draw a sample of the box of this plan."""
        if len(self.groups) == 1:
            sample = self.groups[0].draw(rng)
        else:
            flat = np.empty(box.low.size)
            for group in self.groups:
                flat[group.where] = group.draw(rng)
            sample = flat.reshape(box.shape)
        dtype = box.dtype
        if dtype.kind == "f":
            return sample.astype(dtype, copy=False)
        np.floor(sample, out=sample)
        if dtype.kind == "b":
            return sample.astype(dtype)
        return _clipped(sample, box)


def _group(
    form: str, chosen: NDArray[np.bool_], low: NDArray[np.float64], high: NDArray[np.float64]
) -> Group:
    if chosen.all():
        # The draw then has the shape of the box.
        where, size, lows, highs = None, chosen.shape, low, high
    else:
        where = np.flatnonzero(chosen)
        lows, highs, size = low.ravel()[where], high.ravel()[where], where.shape
    if form == "bounded" and (highs / 2 - lows / 2).max() > _LARGEST / 2:
        # The length of the interval overflows float64; that of its half does not.
        form, lows, highs = "wide", lows / 2, highs / 2
    return Group(form, where, _common(lows), _common(highs), size)


def _common(values: NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Return the value of equal entries as a number, with which NumPy draws faster."""
    first = values.flat[0]
    return float(first) if (values == first).all() else values


def _upper_ends(high: NDArray[Any]) -> NDArray[np.float64]:
    """Return the upper ends of the intervals to draw from: for integers, one above the bound."""
    if high.dtype.kind == "f":
        return high.astype(np.float64)
    ends = (high.astype(np.int64) + 1).astype(np.float64)
    if high.dtype.itemsize == 8:
        # The successor of the largest int64, and the upper half of uint64, overflow int64.
        ends = np.where(high >= np.iinfo(np.int64).max, high.astype(np.float64), ends)
    return ends


def _clipped(sample: NDArray[np.float64], box: Box[Any]) -> NDArray[Any]:
    """Cast to the integer dtype, clipping numbers that are, or round, beyond its range."""
    limits = np.iinfo(box.dtype)
    # The limits of 64-bit integers are not exact in float64; use the next number inside.
    largest = float(limits.max) if limits.bits < 64 else np.nextafter(float(limits.max), 0)
    cast = sample.clip(float(limits.min), largest, out=sample).astype(box.dtype)
    return cast.clip(box.low, box.high, out=cast) if limits.bits == 64 else cast
