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

__all__ = ["DTYPES", "ENCODINGS", "Encoding", "is_narrowed", "narrowed", "restored", "storable"]


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
    """Return the array in one piece and little-endian; raises ``ValueError`` for other dtypes."""
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        raise ValueError(
            f"is an array of dtype {array.dtype}; bools, integers and floats up to 64 bits can be "
            "stored"
        )
    return np.ascontiguousarray(array, dtype=dtype)


def _is_constant(array: Array) -> bool:
    """Tell whether all rows have the same bits; the first rows are compared first."""
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


_INTEGERS = [np.dtype(code) for code in ("u1", "i1", "u2", "i2", "u4", "i4")]
_FLOATS = {
    np.dtype(np.float64): (np.dtype(np.int8), np.dtype(np.float32)),
    np.dtype(np.float32): (np.dtype(np.int8),),
}
_CHUNK = 2**14  # Numbers that fit into the processor's nearest caches.
_NEGATIVE = {size: np.iinfo(f"i{size}").min for size in (4, 8)}  # The bits of negative zero.


def narrowed(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column in the smallest dtype that holds its values to the bit."""
    if not column.size or column.dtype == np.bool_:
        return column
    if (bits := _as_bits(column)) is not None:
        return bits
    if column.dtype.kind in "iu":
        return _narrow_integers(column)
    for dtype in _FLOATS.get(column.dtype, ()):
        if (found := _fits(column, dtype)) is not None:
            return found
    return column


def is_narrowed(found: np.dtype[Any], original: np.dtype[Any]) -> bool:
    """Tell whether a column of the original dtype may be stored in the found one."""
    if found == original or found == np.bool_:
        return found == original or original.kind in "iuf"
    if original.kind in "iu":
        return found in _INTEGERS
    return found in _FLOATS.get(original, ())


def restored(column: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Undo :func:`narrowed`; the column itself if it was not narrowed."""
    return column.astype(dtype, copy=False)


def _as_bits(column: NDArray[Any]) -> NDArray[Any] | None:
    """Return a column of nothing but zeros and ones as bools."""
    words = np.ascontiguousarray(column).view(f"u{column.itemsize}")
    ones = words == np.ones((), column.dtype).view(words.dtype)
    return ones if (ones | (words == 0)).all() else None


def _narrow_integers(column: NDArray[Any]) -> NDArray[Any]:
    low, high = int(column.min()), int(column.max())
    for dtype in _INTEGERS:
        if dtype.itemsize >= column.dtype.itemsize:
            break
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return column.astype(dtype)
    return column


def _fits(column: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Return the column in another dtype if that keeps every bit; one with a NaN is left alone."""
    found = np.empty(column.shape, dtype)
    flat, whole = column.reshape(-1), found.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        part, kept = flat[start : start + _CHUNK], whole[start : start + _CHUNK]
        with np.errstate(invalid="ignore", over="ignore"):
            np.copyto(kept, part, casting="unsafe")
        if not (kept == part).all():
            return None
        if dtype.kind == "i" and (part.view(f"i{part.itemsize}") == _NEGATIVE[part.itemsize]).any():
            return None
    return found
