"""The flattening functions, at Gymnasium's module path."""

from __future__ import annotations

from ludus.spaces.equivalence import is_space_dtype_shape_equiv
from ludus.spaces.flattening import FlatType, flatdim, flatten, flatten_space, unflatten

__all__ = [
    "FlatType",
    "flatdim",
    "flatten",
    "flatten_space",
    "is_space_dtype_shape_equiv",
    "unflatten",
]
