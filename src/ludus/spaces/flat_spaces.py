"""The spaces of flattened values, their length and dtype.

``flatdim`` and ``flatten_space`` are ``functools.singledispatch`` functions:
``flatten_space.register(MySpace)`` adds a type of space.
"""

# ruff: noqa: ARG001 - all implementations of a function share one signature

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, NoReturn

import numpy as np

from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import NotASpaceError, SpaceValueError, conversion_hint
from ludus.spaces.graph import Graph
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.sequence import Sequence
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = ["flat_dtype", "flatdim", "flatten_space", "parts_of", "unknown"]


def unknown(function: str, space: object) -> NoReturn:
    """Raise because ``function`` has no implementation for this type of space."""
    raise NotImplementedError(
        f"Unknown space: `{space}` of type {type(space)}; register the type with "
        f"`{function}.register` to support it{conversion_hint(space)}"
    )


def _no_vector(space: object) -> NoReturn:
    if not isinstance(space, Space):
        raise NotASpaceError(
            f"Only a Space can be flattened, got {space!r} of {type(space)}. Pass the space first."
        )
    raise SpaceValueError(
        f"{space} cannot be flattened to a vector: it has no dtype and size of its own, or holds a "
        "`Graph` or `Sequence`, whose members vary in size"
    )


@singledispatch
def flatdim(space: Space[Any]) -> int:
    """Return the length of a flattened value.

    Raises:
        SpaceValueError: The space cannot be flattened into a vector.
        NotImplementedError: The space is a custom one that is not registered.

    Example:
        >>> flatdim(Dict(position=Discrete(2), velocity=Box(0, 1, shape=(3, 2))))
        8
    """
    if not getattr(space, "is_np_flattenable", False):
        _no_vector(space)
    unknown("flatdim", space)


@flatdim.register(Box | MultiBinary)
def _dim_array(space: Box | MultiBinary) -> int:
    return math.prod(space.shape)


@flatdim.register(Discrete)
def _dim_discrete(space: Discrete) -> int:
    return int(space.n)


@flatdim.register(MultiDiscrete)
def _dim_multi_discrete(space: MultiDiscrete) -> int:
    return int(space.nvec.sum())


@flatdim.register(Text)
def _dim_text(space: Text) -> int:
    return space.max_length


@flatdim.register(Dict | Tuple)
def _dim_composite(space: Dict | Tuple) -> int:
    if not getattr(space, "is_np_flattenable", False):
        _no_vector(space)
    return sum(map(flatdim, parts_of(space)))


@flatdim.register(OneOf)
def _dim_oneof(space: OneOf) -> int:
    return 1 + max(map(flatdim, space.spaces))


def parts_of(space: Dict | Tuple) -> list[Space[Any]]:
    """Return the spaces of the parts in their order."""
    return list(space.spaces.values() if isinstance(space, Dict) else space.spaces)


@singledispatch
def flat_dtype(space: Space[Any]) -> np.dtype[Any]:
    """Return the dtype of a flattened value."""
    if space.dtype is None:
        _no_vector(space)
    return space.dtype


@flat_dtype.register(Text)
def _dtype_text(space: Text) -> np.dtype[Any]:
    return np.dtype(np.int32)


@flat_dtype.register(Dict | Tuple)
def _dtype_composite(space: Dict | Tuple) -> np.dtype[Any]:
    return np.result_type(*map(flat_dtype, parts_of(space)))


@flat_dtype.register(OneOf)
def _dtype_oneof(space: OneOf) -> np.dtype[Any]:
    dtype = np.result_type(*map(flat_dtype, space.spaces))
    last = len(space.spaces) - 1
    if dtype.kind == "f" or (dtype.kind in "iu" and last <= np.iinfo(dtype).max):
        return dtype
    # The dtype must also fit the index of the chosen space, which comes first in the vector.
    return dtype if last <= 1 else np.result_type(dtype, np.min_scalar_type(last))


@singledispatch
def flatten_space(space: Space[Any]) -> Any:
    """Return the space of the flattened values.

    A ``Box`` of ``flatdim(space)`` entries, unless the space contains a ``Graph`` or ``Sequence``.
    Not every member of it can be unflattened: a sample of the box is rarely one-hot.

    Raises:
        NotImplementedError: The space is a custom one that is not registered.

    Example:
        >>> flatten_space(Dict(position=Discrete(2), velocity=Box(0, 1, shape=(2, 2))))
        Box(0.0, 1.0, (6,), float64)
    """
    unknown("flatten_space", space)


@flatten_space.register(Box)
def _space_box(space: Box) -> Box:
    return Box(space.low.flatten(), space.high.flatten(), dtype=space.dtype)


@flatten_space.register(Discrete | MultiBinary | MultiDiscrete)
def _space_one_hot(space: Discrete | MultiBinary | MultiDiscrete) -> Box:
    return Box(0, 1, (flatdim(space),), space.dtype)


@flatten_space.register(Text)
def _space_text(space: Text) -> Box:
    return Box(0, len(space.character_list), (space.max_length,), np.int32)


@flatten_space.register(Tuple)
def _space_tuple(space: Tuple) -> Box | Tuple:
    parts = [flatten_space(part) for part in space.spaces]
    return _joined(parts) if space.is_np_flattenable else Tuple(parts)


@flatten_space.register(Dict)
def _space_dict(space: Dict) -> Box | Dict:
    parts = {key: flatten_space(part) for key, part in space.spaces.items()}
    if space.is_np_flattenable:
        return _joined(list(parts.values()))
    return Dict(parts, sort_keys=space.sort_keys)


def _joined(boxes: list[Box]) -> Box:
    """Return the box of the concatenated vectors of several boxes."""
    return Box(
        np.concatenate([box.low for box in boxes]),
        np.concatenate([box.high for box in boxes]),
        dtype=np.result_type(*[box.dtype for box in boxes]),
    )


@flatten_space.register(OneOf)
def _space_oneof(space: OneOf) -> Box:
    boxes = [flatten_space(part) for part in space.spaces]
    low = np.full(flatdim(space), min(box.low.min() for box in boxes))
    high = np.full(flatdim(space), max(box.high.max() for box in boxes))
    dtype = flat_dtype(space)
    low, high = low.astype(dtype), high.astype(dtype)
    low[0], high[0] = 0, len(boxes) - 1
    return Box(low, high, dtype=dtype)


@flatten_space.register(Graph)
def _space_graph(space: Graph) -> Graph:
    edges = None if space.edge_space is None else flatten_space(space.edge_space)
    return Graph(flatten_space(space.node_space), edges)


@flatten_space.register(Sequence)
def _space_sequence(space: Sequence) -> Sequence:
    return Sequence(flatten_space(space.feature_space), stack=space.stack)
