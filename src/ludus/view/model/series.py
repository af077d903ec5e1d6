"""Series of numbers, thinned to what a picture can show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["extremes", "thinned"]


def extremes(values: ArrayLike, columns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return positions and values of the least and the greatest number in each of some columns.

    At most ``2 * columns`` points, in order; peaks stay. Values that are not finite are left out.
    """
    numbers = np.asarray(values, np.float64)
    finite = np.flatnonzero(np.isfinite(numbers))
    if len(finite) <= 2 * columns:
        return finite, numbers[finite]
    edges = np.linspace(0, len(finite), columns + 1).astype(np.int64)
    kept: list[int] = []
    for start, end in pairwise(edges):
        part = numbers[finite[start:end]]
        both = {int(start + part.argmin()), int(start + part.argmax())}
        kept += sorted(both)
    places = finite[kept]
    return places, numbers[places]


def thinned(pairs: Sequence[tuple[int, float | None]], most: int) -> list[tuple[int, float | None]]:
    """Return at most so many pairs: of the numbers the extremes, and few of those without one."""
    if len(pairs) <= most:
        return list(pairs)
    places, _ = extremes([np.nan if one is None else one for _, one in pairs], most // 3)
    without = [place for place, (_, one) in enumerate(pairs) if one is None]
    kept = sorted({*places.tolist(), *without[:: max(1, len(without) // (most // 3))]})
    return [pairs[place] for place in kept]
