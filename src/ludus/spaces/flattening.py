"""Flattens values of spaces to vectors, for learning code that needs vectors.

``flatten`` converts a value to a vector, ``unflatten`` is its inverse, ``flatten_space`` returns
the ``Box`` of the vectors, ``flatdim`` their length. Values with a ``Graph`` or a ``Sequence`` have
no fixed length; they are flattened part by part and keep their structure. Each is a
``functools.singledispatch`` function: ``flatten.register(MySpace)`` adds a type of space.
"""

# ruff: noqa: ARG001 - all implementations of a function share one signature

from __future__ import annotations

from functools import singledispatch
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ludus.spaces.batch_values import concatenate, create_empty_array, iterate
from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import SpaceTypeError, SpaceValueError
from ludus.spaces.flat_spaces import flat_dtype, flatdim, flatten_space, parts_of, unknown
from ludus.spaces.graph import Graph, GraphInstance
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.sequence import Sequence
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = ["FlatType", "flatdim", "flatten", "flatten_space", "unflatten"]

FlatType: TypeAlias = NDArray[Any] | dict[str, Any] | tuple[Any, ...] | GraphInstance


@singledispatch
def flatten(space: Space[Any], x: Any) -> Any:
    """Flatten a member of a space.

    Returns:
        A vector: arrays row by row, one-hot vectors for ``Discrete`` and ``MultiDiscrete``, indices
        of the characters for ``Text``, the parts one after the other for ``Tuple`` and ``Dict``,
        the index and the padded value for ``OneOf``. Tuples and dicts that contain a ``Graph`` or
        ``Sequence`` keep their structure.

    Raises:
        NotImplementedError: The space is a custom one that is not registered.

    Example:
        >>> flatten(Tuple((Box(0, 1, shape=(2,), dtype=np.float64), Discrete(3))), ((0.5, 0.25), 1))
        array([0.5 , 0.25, 0.  , 1.  , 0.  ])
    """
    unknown("flatten", space)


@flatten.register(Box | MultiBinary)
def _flatten_array(space: Box | MultiBinary, x: Any) -> NDArray[Any]:
    return np.asarray(x, dtype=space.dtype).flatten()


@flatten.register(Discrete)
def _flatten_discrete(space: Discrete, x: Any) -> NDArray[Any]:
    vector = np.zeros(space.n, dtype=space.dtype)
    vector[x - space.start] = 1
    return vector


@flatten.register(MultiDiscrete)
def _flatten_multi_discrete(space: MultiDiscrete, x: Any) -> NDArray[Any]:
    ends = space.nvec.cumsum(dtype=np.int64)
    vector = np.zeros(ends[-1] if ends.size else 0, dtype=space.dtype)
    vector[ends - space.nvec.ravel() + (x - space.start).ravel()] = 1
    return vector


@flatten.register(Text)
def _flatten_text(space: Text, x: str) -> NDArray[np.int32]:
    # One past the last index means "no character".
    vector = np.full(space.max_length, len(space.character_list), dtype=np.int32)
    for i, char in enumerate(x):
        vector[i] = space.character_index(char)
    return vector


@flatten.register(Tuple)
def _flatten_tuple(space: Tuple, x: Any) -> Any:
    parts = [flatten(part, value) for part, value in zip(space.spaces, x, strict=True)]
    return np.concatenate(parts) if space.is_np_flattenable else tuple(parts)


@flatten.register(Dict)
def _flatten_dict(space: Dict, x: Any) -> Any:
    parts = {key: flatten(part, x[key]) for key, part in space.spaces.items()}
    return np.concatenate(list(parts.values())) if space.is_np_flattenable else parts


@flatten.register(OneOf)
def _flatten_oneof(space: OneOf, x: tuple[int, Any]) -> NDArray[Any]:
    index, value = x
    part = flatten(space.spaces[index], value)
    vector = np.empty(flatdim(space), dtype=flat_dtype(space))
    vector[0] = index
    vector[1 : 1 + part.size] = part
    if 1 + part.size < vector.size:
        vector[1 + part.size :] = part[0]
    return vector


@flatten.register(Graph)
def _flatten_graph(space: Graph, x: GraphInstance) -> GraphInstance:
    nodes = _flatten_batch(space.node_space, iterate(space.batch_node_space, x.nodes))
    if x.edges is None or space.edge_space is None or space.batch_edge_space is None:
        return GraphInstance(nodes, None, x.edge_links)
    edges = _flatten_batch(space.edge_space, iterate(space.batch_edge_space, x.edges))
    return GraphInstance(nodes, edges, x.edge_links)


@flatten.register(Sequence)
def _flatten_sequence(space: Sequence, x: Any) -> Any:
    if space.stack:
        return _flatten_batch(space.feature_space, iterate(space.stacked_feature_space, x))
    return tuple(flatten(space.feature_space, value) for value in x)


def _flatten_batch(space: Space[Any], values: Any) -> Any:
    """Flatten each value of a batch, and batch the results."""
    return _batch(flatten_space(space), [flatten(space, value) for value in values])


def _unflatten_batch(space: Space[Any], vectors: Any) -> Any:
    values = iterate(flatten_space(space), vectors)
    return _batch(space, [unflatten(space, value) for value in values])


def _batch(space: Space[Any], values: list[Any]) -> Any:
    return concatenate(space, values, create_empty_array(space, n=len(values)))


@singledispatch
def unflatten(space: Space[Any], x: Any) -> Any:
    """Convert the result of ``flatten`` for this space back to a member.

    Raises:
        SpaceValueError: The vector is not a one-hot vector where one is needed.
        SpaceTypeError: ``x`` is not of the type that ``flatten`` returns.
        NotImplementedError: The space is a custom one that is not registered.

    Example:
        >>> unflatten(Discrete(3), flatten(Discrete(3), 2))
        np.int64(2)
    """
    unknown("unflatten", space)


@unflatten.register(Box | MultiBinary)
def _unflatten_array(space: Box | MultiBinary, x: Any) -> NDArray[Any]:
    return np.asarray(x, dtype=space.dtype).reshape(space.shape)


@unflatten.register(Discrete)
def _unflatten_discrete(space: Discrete, x: Any) -> Any:
    (hot,) = np.nonzero(x)
    if hot.size == 0:
        _not_one_hot(space, x, "a one-hot encoded vector")
    return space.start + hot[0].astype(space.dtype)


@unflatten.register(MultiDiscrete)
def _unflatten_multi_discrete(space: MultiDiscrete, x: Any) -> NDArray[Any]:
    (hot,) = np.nonzero(x)
    if hot.size != space.nvec.size:
        _not_one_hot(space, x, "a concatenation of one-hot encoded vectors")
    first = space.nvec.cumsum(dtype=np.int64) - space.nvec.ravel()
    offsets: NDArray[Any] = (hot - first).astype(space.dtype).reshape(space.shape)
    return offsets + space.start  # type: ignore[no-any-return]


def _not_one_hot(space: Space[Any], x: Any, wanted: str) -> NoReturn:
    raise SpaceValueError(
        f"{x} is not {wanted}, so it can not be unflattened to {space}; a sample of the flattened "
        "space seldom is, only what `flatten` returns"
    )


@unflatten.register(Text)
def _unflatten_text(space: Text, x: Any) -> str:
    characters = space.character_list
    # In a larger vector the codes may have been converted to floats.
    return "".join([characters[int(code)] for code in x if code < len(characters)])


@unflatten.register(Tuple)
def _unflatten_tuple(space: Tuple, x: Any) -> tuple[Any, ...]:
    parts = _split(space, x, tuple)
    return tuple([unflatten(part, flat) for part, flat in zip(space.spaces, parts, strict=True)])


@unflatten.register(Dict)
def _unflatten_dict(space: Dict, x: Any) -> dict[str, Any]:
    parts = _split(space, x, dict)
    if isinstance(parts, list):
        parts = dict(zip(space.spaces, parts, strict=True))
    return {key: unflatten(part, parts[key]) for key, part in space.spaces.items()}


def _split(space: Dict | Tuple, x: Any, structure: type) -> Any:
    """Return the vectors of the parts: slices of ``x``, or ``x`` itself if it has structure."""
    if not space.is_np_flattenable:
        if not isinstance(x, structure):
            raise SpaceTypeError(
                f"{space} is not numpy-flattenable, so it unflattens a {structure.__name__}; "
                f"got a {type(x)}"
            )
        return x
    if not isinstance(x, np.ndarray):
        raise SpaceTypeError(
            f"{space} is numpy-flattenable, so it unflattens a numpy array; got a {type(x)}"
        )
    vectors, start = [], 0
    for part in parts_of(space):
        stop = start + flatdim(part)
        vectors.append(x[start:stop])
        start = stop
    return vectors


@unflatten.register(OneOf)
def _unflatten_oneof(space: OneOf, x: Any) -> tuple[np.int64, Any]:
    index = np.int64(x[0])
    part = space.spaces[index]
    return index, unflatten(part, x[1 : 1 + flatdim(part)].astype(flat_dtype(part)))


@unflatten.register(Graph)
def _unflatten_graph(space: Graph, x: GraphInstance) -> GraphInstance:
    nodes = _unflatten_batch(space.node_space, x.nodes)
    if x.edges is None or space.edge_space is None:
        return GraphInstance(nodes, None, x.edge_links)
    return GraphInstance(nodes, _unflatten_batch(space.edge_space, x.edges), x.edge_links)


@unflatten.register(Sequence)
def _unflatten_sequence(space: Sequence, x: Any) -> Any:
    if space.stack:
        return _unflatten_batch(space.feature_space, x)
    return tuple(unflatten(space.feature_space, value) for value in x)
