"""Allocates arrays aligned to cache lines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["aligned_empty", "aligned_zeros"]

_LINE = 64


def aligned_zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Return an array of zeros, aligned to a cache line if it is larger than one.

    The widest vector registers hold a whole line; from an unaligned array each load takes two.
    """
    return _aligned(np.zeros, shape, np.dtype(dtype))


def aligned_empty(shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Return an uninitialised array, aligned like that of ``aligned_zeros``."""
    return _aligned(np.empty, shape, np.dtype(dtype))


def _aligned(make: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    size = math.prod(shape) * dtype.itemsize
    if size <= _LINE:
        return make(shape, dtype)
    memory = make(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(dtype).reshape(shape)
