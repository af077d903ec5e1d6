"""One column of the rows that are not yet a block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.record.format.dtypes import narrowed

__all__ = ["BitsColumn", "RowColumn", "make_column"]

_MANY = 256


class RowColumn:
    """Room for one value per row.

    Args:
        size: How many rows.
        dtype: Of the values.
        shape: Of one value.
    """

    def __init__(self, size: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self.dtype = dtype
        self.shape = shape
        self._size = size
        self._values = np.zeros((size, *shape), dtype)

    def put(self, row: int, value: Any) -> None:
        """Keep the value of a row."""
        self._values[row] = value

    def rows(self, count: int) -> NDArray[Any]:
        """Return the first rows; later ones overwrite them."""
        return self._values[:count]

    def stored(self, count: int) -> NDArray[Any]:
        """Return the first rows in the smallest dtype that holds them."""
        return narrowed(self.rows(count))

    def restart(self) -> None:
        """Begin again with the first row."""


class BitsColumn(RowColumn):
    """Numbers of many environments, kept as bits for as long as they are nothing but 0 and 1.

    A row is looked at while it is near the processor; later that would take several times as long.
    """

    def __init__(self, size: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        super().__init__(0, dtype, shape)
        self._size = size
        self._word = np.dtype(f"u{dtype.itemsize}")
        self._one = np.ones((), dtype).view(self._word)
        self._bits = np.zeros((size, *shape), np.bool_)
        self._are_bits = True

    def put(self, row: int, value: Any) -> None:
        """Keep the value of a row."""
        if self._are_bits:
            words = np.asarray(value, self.dtype).view(self._word)
            ones = self._bits[row]
            np.equal(words, self._one, out=ones)
            if np.count_nonzero(words) == np.count_nonzero(ones):
                return
            self._widen(row)
        self._values[row] = value

    def _widen(self, count: int) -> None:
        if not len(self._values):
            self._values = np.zeros((self._size, *self.shape), self.dtype)
        self._values[:count] = self._bits[:count]
        self._are_bits = False

    def rows(self, count: int) -> NDArray[Any]:
        """Return the first rows; later ones overwrite them."""
        return self._bits[:count].astype(self.dtype) if self._are_bits else self._values[:count]

    def stored(self, count: int) -> NDArray[Any]:
        """Return the first rows in the smallest dtype that holds them."""
        return self._bits[:count] if self._are_bits else narrowed(self._values[:count])

    def restart(self) -> None:
        """Begin again with the first row."""
        self._are_bits = True


def make_column(size: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> RowColumn:
    """Return the kind of column that is fastest for such values."""
    is_batch = len(shape) == 1 and shape[0] >= _MANY
    if is_batch and dtype in (np.dtype(np.int64), np.dtype(np.float64)):
        return BitsColumn(size, dtype, shape)
    return RowColumn(size, dtype, shape)
