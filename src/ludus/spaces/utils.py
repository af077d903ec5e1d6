"""Flattening of values, and comparison of spaces, at Gymnasium's module path."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import SpaceTypeError
from ludus.spaces.flattening import FlatType, flatdim, flatten, flatten_space, unflatten
from ludus.spaces.graph import Graph
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.sequence import Sequence
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = [
    "FlatType",
    "flatdim",
    "flatten",
    "flatten_space",
    "is_space_dtype_shape_equiv",
    "unflatten",
]


@singledispatch
def is_space_dtype_shape_equiv(space_1: Space[Any], space_2: Space[Any]) -> bool:
    """Return whether two spaces have the same type, dtype and shape; bounds may differ.

    A ``functools.singledispatch`` function of the first argument.

    Raises:
        NotImplementedError: The first space is a custom one that is not registered.
        SpaceTypeError: One of the arguments is not a space.

    Example:
        >>> is_space_dtype_shape_equiv(Box(0, 1, shape=(2,)), Box(-5, 5, shape=(2,)))
        True
    """
    if isinstance(space_1, Space) and isinstance(space_2, Space):
        raise NotImplementedError(
            f"`is_space_dtype_shape_equiv` doesn't support spaces of type {type(space_1)}; "
            "register the type to support it"
        )
    raise SpaceTypeError(
        f"Expected two spaces to compare, actual types: {type(space_1)}, {type(space_2)}"
    )


@is_space_dtype_shape_equiv.register(Box | Discrete | MultiBinary | MultiDiscrete)
def _arrays(space_1: Space[Any], space_2: Any) -> bool:
    return (
        type(space_1) is type(space_2)
        and space_1.shape == space_2.shape
        and space_1.dtype == space_2.dtype
    )


@is_space_dtype_shape_equiv.register(Text)
def _texts(space_1: Text, space_2: Any) -> bool:
    return (
        isinstance(space_2, Text)
        and space_1.max_length == space_2.max_length
        and space_1.character_set == space_2.character_set
    )


@is_space_dtype_shape_equiv.register(Dict)
def _dicts(space_1: Dict, space_2: Any) -> bool:
    return (
        isinstance(space_2, Dict)
        and space_1.spaces.keys() == space_2.spaces.keys()
        and all(is_space_dtype_shape_equiv(space_1[key], space_2[key]) for key in space_1)
    )


@is_space_dtype_shape_equiv.register(OneOf | Tuple)
def _tuples(space_1: OneOf | Tuple, space_2: Any) -> bool:
    kind = OneOf if isinstance(space_1, OneOf) else Tuple
    return (
        isinstance(space_2, kind)
        and len(space_1) == len(space_2)
        and all(map(is_space_dtype_shape_equiv, space_1.spaces, space_2.spaces))
    )


@is_space_dtype_shape_equiv.register(Graph)
def _graphs(space_1: Graph, space_2: Any) -> bool:
    if not isinstance(space_2, Graph):
        return False
    if not is_space_dtype_shape_equiv(space_1.node_space, space_2.node_space):
        return False
    if space_1.edge_space is None or space_2.edge_space is None:
        return space_1.edge_space is space_2.edge_space
    return is_space_dtype_shape_equiv(space_1.edge_space, space_2.edge_space)


@is_space_dtype_shape_equiv.register(Sequence)
def _sequences(space_1: Sequence, space_2: Any) -> bool:
    return (
        isinstance(space_2, Sequence)
        and space_1.stack is space_2.stack
        and is_space_dtype_shape_equiv(space_1.feature_space, space_2.feature_space)
    )
