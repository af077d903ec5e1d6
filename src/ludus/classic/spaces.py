"""Ludus's spaces under the names of Gym 0.21."""

from __future__ import annotations

from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    Space,
    Tuple,
    flatdim,
    flatten,
    flatten_space,
    unflatten,
)

__all__ = [
    "Box",
    "Dict",
    "Discrete",
    "MultiBinary",
    "MultiDiscrete",
    "Space",
    "Tuple",
    "flatdim",
    "flatten",
    "flatten_space",
    "unflatten",
]
