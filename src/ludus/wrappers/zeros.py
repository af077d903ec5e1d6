"""Finds the member of a space that is nearest to zero."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.errors import CustomSpaceError
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    GraphInstance,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
    batch_space,
)

__all__ = ["create_zero_array"]


@singledispatch
def create_zero_array(space: Space[Any]) -> Any:
    """Return the member of ``space`` that is as near to zero as its bounds allow.

    ``create_zero_array.register(MySpace)`` adds a kind of space.

    Raises:
        CustomSpaceError: No implementation is registered for this kind of space.
        TypeError: ``space`` is not a space.
    """
    if isinstance(space, Space):
        raise CustomSpaceError(
            f"`create_zero_array` has no implementation for spaces of type {type(space)}. Register "
            "one with `create_zero_array.register(...)`."
        )
    raise TypeError(
        f"`create_zero_array` takes a Space instance, got {space!r} of type {type(space)}."
    )


@create_zero_array.register(Box)
def _box(space: Box) -> npt.NDArray[Any]:
    zero: npt.NDArray[Any] = np.zeros(space.shape, dtype=space.dtype)
    return np.clip(zero, space.low, space.high, out=zero)


@create_zero_array.register(Discrete)
def _discrete(space: Discrete) -> Any:
    return space.start


@create_zero_array.register(MultiDiscrete)
def _multi_discrete(space: MultiDiscrete) -> npt.NDArray[Any]:
    return np.array(space.start, dtype=space.dtype)


@create_zero_array.register(MultiBinary)
def _multi_binary(space: MultiBinary) -> npt.NDArray[Any]:
    return np.zeros(space.shape, dtype=space.dtype)


@create_zero_array.register(Tuple)
def _tuple(space: Tuple) -> tuple[Any, ...]:
    return tuple(create_zero_array(part) for part in space.spaces)


@create_zero_array.register(Dict)
def _dict(space: Dict) -> dict[str, Any]:
    return {key: create_zero_array(part) for key, part in space.spaces.items()}


@create_zero_array.register(Sequence)
def _sequence(space: Sequence) -> Any:
    return create_zero_array(space.stacked_feature_space) if space.stack else ()


@create_zero_array.register(Text)
def _text(space: Text) -> str:
    return space.characters[:1] * space.min_length


@create_zero_array.register(Graph)
def _graph(space: Graph) -> GraphInstance:
    """Return one node and, if the space has edges, one edge from it to itself."""
    nodes = create_zero_array(batch_space(space.node_space, 1))
    if space.edge_space is None:
        return GraphInstance(nodes=nodes, edges=None, edge_links=None)
    edges = create_zero_array(batch_space(space.edge_space, 1))
    return GraphInstance(nodes=nodes, edges=edges, edge_links=np.zeros((1, 2), dtype=np.int64))


@create_zero_array.register(OneOf)
def _one_of(space: OneOf) -> tuple[int, Any]:
    return 0, create_zero_array(space.spaces[0])
