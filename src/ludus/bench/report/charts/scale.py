"""Linear scales with round ticks, safe for any finite domain."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["AxisScale", "domain_of"]

_BOUND = 1e300  # a difference of two such numbers is still finite
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class AxisScale:
    """Maps ``[low, high]`` to pixels ``[start, stop]``; what lies outside goes to the edge."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.start + part * (self.stop - self.start)

    def ticks(self, about: int = 5) -> tuple[tuple[float, str], ...]:
        """Round values inside the domain, roughly so many, each with its label."""
        step = _round_step((self.high - self.low) / max(about, 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [index * step for index in range(first, last + 1)]
        size, suffix = _unit(max(map(abs, values), default=0.0))
        return tuple(
            (value, _label(value / size, step / size) + suffix if value else "0")
            for value in values
        )


def domain_of(values: Iterable[float], *, include: Iterable[float] = ()) -> tuple[float, float]:
    """The smallest domain of non-zero width, with a little air, that holds all values."""
    held = [min(max(value, -_BOUND), _BOUND) for value in (*values, *include)]
    low, high = (min(held), max(held)) if held else (0.0, 1.0)
    air = (high - low) * 0.04 or max(abs(high) * 0.1, 0.5)
    return low - air, high + air


def _round_step(raw: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(raw))
    return next(step * magnitude for step in _STEPS if step * magnitude >= raw * (1 - 1e-9))


def _unit(peak: float) -> tuple[float, str]:
    """One unit for all ticks of an axis, so that they can be compared at a glance."""
    units = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
    return next(((size, letter) for size, letter in units if 10 * size <= peak < 1e13), (1.0, ""))


def _label(value: float, step: float) -> str:
    if abs(value) >= 1e5 or step < 1e-4:
        return f"{value:.3g}"
    decimals = next(places for places in range(6) if math.isclose(round(step, places), step))
    return f"{value:.{decimals}f}"
