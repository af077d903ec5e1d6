"""Numbers in the smallest dtype that holds them to the bit, and back.

Actions are mostly small integers and rewards mostly a few whole numbers, kept as eight bytes each.
A block holds them as bools, narrow integers or single floats where that loses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_narrowed", "narrowed", "restored"]

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
