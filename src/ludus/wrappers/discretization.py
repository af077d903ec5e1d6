"""A Box cut into bins of equal width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, SupportsInt

import numpy as np
import numpy.typing as npt

from ludus.spaces import Discrete, MultiDiscrete
from ludus.wrappers.arguments import require_box

__all__ = ["Bins", "Grid"]

Bins = int | Sequence[int]


class Grid:
    """Grid over a Box; cells have a tuple of indices and a flat index in C order.

    Raises:
        TypeError: The space is not a Box.
        ValueError: The Box is unbounded, or ``bins`` does not have one entry per component.
    """

    def __init__(self, wrapper: type[Any], kind: str, space: object, bins: Bins) -> None:
        box = require_box(wrapper, kind, space)
        self.low = np.ravel(box.low)
        self.high = np.ravel(box.high)
        if np.any(np.isinf(self.low)) or np.any(np.isinf(self.high)):
            raise ValueError(
                f"Only a finite {kind} space can be cut into bins; {box} has infinite bounds."
            )
        count = self.low.size
        per_component = [bins] * count if isinstance(bins, int) else bins
        if len(per_component) != count:
            raise ValueError(
                f"`bins` has {len(per_component)} entries for {count} {kind} components; give "
                "one each, or one number for all."
            )
        self.bins: npt.NDArray[np.int64] = np.array(per_component)
        self._sizes = self.bins.tolist()
        self.edges = [
            np.linspace(low, high, number + 1)
            for low, high, number in zip(self.low, self.high, self.bins, strict=True)
        ]

    def space(self, *, multidiscrete: bool) -> Discrete | MultiDiscrete:
        """Return the space of cell indices."""
        return MultiDiscrete(self.bins) if multidiscrete else Discrete(np.prod(self.bins))

    def flat(self, indices: Iterable[int]) -> int:
        """Return the flat index of a cell."""
        number = 0
        for index, bins in zip(indices, self._sizes, strict=True):
            number = number * bins + index
        return number

    def indices(self, flat: SupportsInt) -> list[int]:
        """Return the indices of the cell with a flat index, modulo the number of cells."""
        number = int(flat)
        cell = []
        for bins in reversed(self._sizes):
            number, index = divmod(number, bins)
            cell.append(index)
        return cell[::-1]
