"""Gymnasium's home of the flattening functions; they live in the modules named below."""

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
