"""Batches of values in shared memory.

``create_shared_memory`` allocates with :mod:`multiprocessing`; reading and writing work on the
result, and on the arrays from :meth:`MemoryLayout.views`. Each is a
``functools.singledispatch`` function: ``create_shared_memory.register(MySpace)`` teaches it a new
space.
"""

# ruff: noqa: ARG001 - all implementations of a function share one signature

from __future__ import annotations

import math
import multiprocessing
from array import typecodes
from ctypes import c_bool, c_uint8
from functools import singledispatch
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ludus.spaces.batch_values import refuse
from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import SpaceTypeError
from ludus.spaces.flattening import flatten, unflatten
from ludus.spaces.graph import Graph
from ludus.spaces.layout import MemoryLayout
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.sequence import Sequence
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = [
    "MemoryLayout",
    "create_shared_memory",
    "read_from_shared_memory",
    "write_to_shared_memory",
]

_ArraySpace: TypeAlias = Box | Discrete | MultiBinary | MultiDiscrete

_TEXT = np.dtype(np.int32)
_INDEX = np.dtype(np.int64)


@singledispatch
def create_shared_memory(space: Space[Any], n: int = 1, ctx: Any = multiprocessing) -> Any:
    """Allocate memory for ``n`` values.

    Args:
        space: The space of a single value.
        n: Number of environments.
        ctx: A context of :mod:`multiprocessing`.

    Returns:
        ``ctx.Array`` objects in the structure of the members.

    Raises:
        CustomSpaceError: The space is a custom one that is not registered.
        SpaceTypeError: The size of a value is not fixed, or ``space`` is not a space.
    """
    refuse("create_shared_memory", space)


@create_shared_memory.register(Box | Discrete | MultiBinary | MultiDiscrete)
def _create_array(space: _ArraySpace, n: int = 1, ctx: Any = multiprocessing) -> Any:
    dtype, size = space.dtype, n * math.prod(space.shape)
    if dtype.kind == "b":
        return ctx.Array(c_bool, size)
    if dtype.char in typecodes:
        return ctx.Array(dtype.char, size)
    # ctypes has no such type, for example float16; bytes are read with the dtype.
    return ctx.Array(c_uint8, size * dtype.itemsize)


@create_shared_memory.register(Text)
def _create_text(space: Text, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array(_TEXT.char, n * space.max_length)


@create_shared_memory.register(Tuple)
def _create_tuple(space: Tuple, n: int = 1, ctx: Any = multiprocessing) -> tuple[Any, ...]:
    return tuple(create_shared_memory(part, n=n, ctx=ctx) for part in space.spaces)


@create_shared_memory.register(Dict)
def _create_dict(space: Dict, n: int = 1, ctx: Any = multiprocessing) -> dict[str, Any]:
    return {key: create_shared_memory(part, n=n, ctx=ctx) for key, part in space.spaces.items()}


@create_shared_memory.register(OneOf)
def _create_oneof(space: OneOf, n: int = 1, ctx: Any = multiprocessing) -> tuple[Any, ...]:
    parts = [create_shared_memory(part, n=n, ctx=ctx) for part in space.spaces]
    return (ctx.Array(_INDEX.char, n), *parts)


@create_shared_memory.register(Graph | Sequence)
def _create_dynamic(space: Graph | Sequence, n: int = 1, ctx: Any = multiprocessing) -> NoReturn:
    raise SpaceTypeError(
        f"{space} has a dynamic shape: no shared memory of fixed size holds its members. Switch it "
        "off with `shared_memory=False`."
    )


@singledispatch
def read_from_shared_memory(space: Space[Any], shared_memory: Any, n: int = 1) -> Any:
    """Return the batch of ``n`` values in shared memory.

    Its arrays are views: they change when a value is written.

    Args:
        space: The space of a single value.
        shared_memory: The result of ``create_shared_memory`` or ``MemoryLayout.views``.
        n: Number of environments.

    Raises:
        CustomSpaceError: The space is a custom one that is not registered.
        SpaceTypeError: ``space`` is not a space.
    """
    refuse("read_from_shared_memory", space)


def _rows(memory: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return memory as an array of the shape, without copying."""
    if isinstance(memory, np.ndarray):
        return memory
    return np.frombuffer(memory.get_obj(), dtype=dtype).reshape(shape)


@read_from_shared_memory.register(Box | Discrete | MultiBinary | MultiDiscrete)
def _read_array(space: _ArraySpace, shared_memory: Any, n: int = 1) -> NDArray[Any]:
    return _rows(shared_memory, space.dtype, (n, *space.shape))


@read_from_shared_memory.register(Text)
def _read_text(space: Text, shared_memory: Any, n: int = 1) -> tuple[str, ...]:
    codes = _rows(shared_memory, _TEXT, (n, space.max_length))
    return tuple([unflatten(space, row) for row in codes])


@read_from_shared_memory.register(Tuple)
def _read_tuple(space: Tuple, shared_memory: Any, n: int = 1) -> tuple[Any, ...]:
    pairs = zip(space.spaces, shared_memory, strict=True)
    return tuple([read_from_shared_memory(part, memory, n=n) for part, memory in pairs])


@read_from_shared_memory.register(Dict)
def _read_dict(space: Dict, shared_memory: Any, n: int = 1) -> dict[str, Any]:
    return {
        key: read_from_shared_memory(part, shared_memory[key], n=n)
        for key, part in space.spaces.items()
    }


@read_from_shared_memory.register(OneOf)
def _read_oneof(space: OneOf, shared_memory: Any, n: int = 1) -> tuple[Any, ...]:
    indices = _rows(shared_memory[0], _INDEX, (n,))
    pairs = zip(space.spaces, shared_memory[1:], strict=True)
    batches = [read_from_shared_memory(part, memory, n=n) for part, memory in pairs]
    return tuple([(i, _pick(space.spaces[i], batches[i], row)) for row, i in enumerate(indices)])


def _pick(space: Space[Any], batch: Any, row: int) -> Any:
    """Return one value of a batch."""
    if isinstance(space, Dict):
        return {key: _pick(part, batch[key], row) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple([_pick(part, batch[i], row) for i, part in enumerate(space.spaces)])
    return batch[row]


@singledispatch
def write_to_shared_memory(space: Space[Any], index: int, value: Any, shared_memory: Any) -> None:
    """Write the value of one environment into shared memory.

    Args:
        space: The space of a single value.
        index: Which environment, from 0.
        value: The value.
        shared_memory: The result of ``create_shared_memory`` or ``MemoryLayout.views``.

    Raises:
        CustomSpaceError: The space is a custom one that is not registered.
        SpaceTypeError: ``space`` is not a space.
    """
    refuse("write_to_shared_memory", space)


def _write(
    memory: Any, index: int, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> None:
    row = np.asarray(value, dtype).reshape(shape)
    if row.size > 0:  # the number of empty rows is ambiguous
        _rows(memory, dtype, (-1, *shape))[index] = row


@write_to_shared_memory.register(Box | Discrete | MultiBinary | MultiDiscrete)
def _write_array(space: _ArraySpace, index: int, value: Any, shared_memory: Any) -> None:
    _write(shared_memory, index, value, space.dtype, space.shape)


@write_to_shared_memory.register(Text)
def _write_text(space: Text, index: int, value: str, shared_memory: Any) -> None:
    _write(shared_memory, index, flatten(space, value), _TEXT, (space.max_length,))


@write_to_shared_memory.register(Tuple)
def _write_tuple(space: Tuple, index: int, value: Any, shared_memory: Any) -> None:
    for part, item, memory in zip(space.spaces, value, shared_memory, strict=True):
        write_to_shared_memory(part, index, item, memory)


@write_to_shared_memory.register(Dict)
def _write_dict(space: Dict, index: int, value: Any, shared_memory: Any) -> None:
    for key, part in space.spaces.items():
        write_to_shared_memory(part, index, value[key], shared_memory[key])


@write_to_shared_memory.register(OneOf)
def _write_oneof(space: OneOf, index: int, value: Any, shared_memory: Any) -> None:
    chosen, item = value
    _write(shared_memory[0], index, chosen, _INDEX, ())
    # The arrays of the other spaces keep old values, which are not read.
    write_to_shared_memory(space.spaces[chosen], index, item, shared_memory[1 + chosen])
