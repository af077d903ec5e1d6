"""Helper functions of Gymnasium's classic-control modules, for environments that use them.

Ludus's own environments do not use them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsFloat

import numpy as np

__all__ = [
    "angle_normalize",
    "bound",
    "maybe_parse_reset_bounds",
    "rk4",
    "verify_number_and_cast",
    "wrap",
]

Array = np.ndarray[Any, Any]


def verify_number_and_cast(x: SupportsFloat) -> float:
    """Return a number as a float.

    Raises:
        ValueError: It is not a single number.
    """
    try:
        return float(x)
    except (TypeError, ValueError) as problem:
        raise ValueError(f"Expected a number, got {x!r} ({type(x).__name__}).") from problem


def maybe_parse_reset_bounds(
    options: Mapping[str, Any] | None, default_low: float, default_high: float
) -> tuple[float, float]:
    """Return the options ``low`` and ``high`` of ``reset``, the defaults where they are missing.

    Raises:
        ValueError: One is not a number, or low exceeds high.
    """
    if options is None:
        return default_low, default_high
    low = verify_number_and_cast(options.get("low", default_low))
    high = verify_number_and_cast(options.get("high", default_high))
    if low > high:
        raise ValueError(f"The options ask for low={low} > high={high}; swap them.")
    return low, high


def angle_normalize(x: Any) -> Any:
    """Return an angle, or an array of them, as the equal one from -pi up to pi."""
    return (x + np.pi) % (2 * np.pi) - np.pi


def wrap(x: float, m: float, M: float) -> float:  # noqa: N803 - the name that callers use
    """Return ``x`` moved into the interval from ``m`` to ``M`` by whole lengths of it.

    Raises:
        ValueError: ``x`` is infinite.
    """
    if math.isinf(x):
        raise ValueError(f"Cannot wrap {x}: expected a finite number.")
    length = M - m
    while x > M:
        x -= length
    while x < m:
        x += length
    return x


def bound(x: Any, m: Any, M: Any = None) -> Any:  # noqa: N803 - as above
    """Return ``x`` clipped to an interval.

    ``m`` and ``M`` are the ends; without ``M``, ``m`` holds both.
    """
    low, high = (m[0], m[1]) if M is None else (m, M)
    return min(max(x, low), high)


def rk4(derivs: Callable[[Array], Any], y0: Any, t: Sequence[float]) -> Array:
    """Integrate ``dy/dt = derivs(y)`` by the Runge-Kutta method of order 4.

    Args:
        derivs: Returns the derivatives.
        y0: Initial values; numbers beyond those that ``derivs`` returns are parameters.
        t: The times to step through; the first is that of ``y0``.

    Returns:
        The first four numbers at the last time.
    """
    place = np.asarray(y0, np.float64)
    for now, then in itertools.pairwise(t):
        step = then - now
        half = step / 2.0
        first = np.asarray(derivs(place))
        second = np.asarray(derivs(place + half * first))
        third = np.asarray(derivs(place + half * second))
        fourth = np.asarray(derivs(place + step * third))
        place = place + step / 6.0 * (first + 2 * second + 2 * third + fourth)
    return place[:4]
