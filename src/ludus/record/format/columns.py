"""How one column of a block is stored: a table of encodings, the first that fits is taken.

Every encoding turns an array of shape ``(rows, *shape)`` into bytes and back, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DTYPES", "ENCODINGS", "Encoding", "storable"]

Array = NDArray[Any]

DTYPES = {
    np.dtype(code).str: np.dtype(code)
    for code in ("?", "b", "B", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
}
"""What a column may hold, by the name that a block's table gives it."""

_PROBE = 64  # Rows that tell most columns from a constant one.


@dataclass(frozen=True, slots=True)
class Encoding:
    """One way to store a column."""

    fits: Callable[[Array], bool]
    """Whether a column, with at least one row, can and should be stored so."""
    pack: Callable[[Array], Array]
    """The bytes to store, as an array in one piece."""
    length: Callable[[np.dtype[Any], int, int], int]
    """The number of bytes that a dtype, rows and items per row take."""
    unpack: Callable[[memoryview, np.dtype[Any], int, tuple[int, ...]], Array]
    """The column again, from its bytes, dtype, rows and shape of a row; not to be written to."""


def storable(array: Array) -> Array:
    """Return the array in one piece and little-endian, itself if it is so already.

    Raises:
        ValueError: Its dtype cannot be stored; the text says what it is.
    """
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        raise ValueError(
            f"is an array of dtype {array.dtype}; bools, integers and floats up to 64 bits can be "
            "stored"
        )
    return np.ascontiguousarray(array, dtype=dtype)


def _is_constant(array: Array) -> bool:
    """Tell whether all rows have the same bits; a column that varies is told by a few of them."""
    if len(array) < 2 or not array[0].nbytes:
        return False
    rows = array.reshape(len(array), -1)
    width = math.gcd(rows[0].nbytes, 8)
    # The last axis can be viewed in other units only if it is not empty, which it is not here.
    units = rows.view(np.uint8).view(f"<u{width}")
    if not (units[1:_PROBE] == units[0]).all():
        return False
    return bool((units[_PROBE:] == units[0]).all())


def _unpack_raw(data: memoryview, dtype: np.dtype[Any], rows: int, shape: tuple[int, ...]) -> Array:
    return np.frombuffer(data, dtype).reshape(rows, *shape)


def _unpack_constant(
    data: memoryview, dtype: np.dtype[Any], rows: int, shape: tuple[int, ...]
) -> Array:
    return np.broadcast_to(np.frombuffer(data, dtype).reshape(shape), (rows, *shape))


def _unpack_bits(
    data: memoryview, dtype: np.dtype[Any], rows: int, shape: tuple[int, ...]
) -> Array:
    bits = np.unpackbits(np.frombuffer(data, np.uint8), count=rows * math.prod(shape))
    return bits.view(dtype).reshape(rows, *shape)


ENCODINGS = {
    "constant": Encoding(
        fits=_is_constant,
        pack=lambda array: array[:1],
        length=lambda dtype, _, items: dtype.itemsize * items,
        unpack=_unpack_constant,
    ),
    "bits": Encoding(
        fits=lambda array: array.dtype == np.bool_,
        pack=lambda array: np.packbits(array),
        length=lambda _, rows, items: (rows * items + 7) // 8,
        unpack=_unpack_bits,
    ),
    "raw": Encoding(
        fits=lambda _: True,
        pack=lambda array: array,
        length=lambda dtype, rows, items: dtype.itemsize * rows * items,
        unpack=_unpack_raw,
    ),
}
"""By the name in a block's table, the narrowest first."""
