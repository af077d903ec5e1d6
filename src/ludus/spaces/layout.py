"""Memory layout of the values of n environments in one block.

A layout depends only on the space and n, so that two processes that know both need not exchange it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np

from ludus.errors import CustomSpaceError
from ludus.spaces.batch_values import refuse
from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import SpaceValueError
from ludus.spaces.graph import Graph
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.sequence import Sequence
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = ["ALIGNMENT", "Layout", "Leaf", "MemoryLayout", "storage"]

ALIGNMENT = 64
"""Every array starts at a multiple of this many bytes: a cache line, the widest vector register."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array in the block: its offset, and the dtype and shape of one environment's part."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


Tree: TypeAlias = "Leaf | tuple[Tree, ...] | dict[str, Tree]"


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """The places of all arrays for ``n`` values of a space.

    ``tree`` has the structure of the members: a dict for ``Dict``, a tuple for ``Tuple``. A text is
    stored as int32 codes, as by ``flatten``; a ``OneOf`` as a tuple of the int64 index and an array
    for each of its spaces.

    Example:
        >>> layout = MemoryLayout.of(Box(0, 1, shape=(3,)), n=2)
        >>> layout.views(bytearray(layout.nbytes)).shape
        (2, 3)
    """

    n: int
    tree: Tree
    nbytes: int
    """Size of the block."""

    @classmethod
    def of(cls, space: Space[Any], n: int = 1) -> MemoryLayout:
        """Return the layout of ``n`` values of ``space``.

        Raises:
            CustomSpaceError: The size of a value is not fixed, or the space is a custom one that is
                not registered with ``storage``.
            SpaceValueError: ``n`` is not positive.
        """
        if n < 1:
            raise SpaceValueError(f"A layout needs n of at least 1, got {n}")
        end = 0

        def place(leaf: Leaf) -> Leaf:
            nonlocal end
            placed = Leaf(end, leaf.dtype, leaf.shape)
            size = n * leaf.dtype.itemsize * int(np.prod(leaf.shape))
            end += -(-size // ALIGNMENT) * ALIGNMENT
            return placed

        tree = _map(place, storage(space))
        return cls(n, tree, max(end, ALIGNMENT))

    def views(self, buffer: Any) -> Any:
        """Return the arrays of shape ``(n, *shape)`` over a block of memory, without copying.

        Args:
            buffer: Anything with the buffer protocol that is writable and has ``nbytes`` bytes.

        Raises:
            SpaceValueError: It is read-only or too small.
        """
        memory = memoryview(buffer)
        if memory.readonly:
            raise SpaceValueError(f"The buffer must be writable, {type(buffer)} is read-only")
        if memory.nbytes < self.nbytes:
            raise SpaceValueError(
                f"The buffer is too small: it has {memory.nbytes} bytes, needed are {self.nbytes}"
            )
        return _map(
            lambda leaf: np.ndarray((self.n, *leaf.shape), leaf.dtype, memory, leaf.offset),
            self.tree,
        )


Layout = MemoryLayout  # the old name


def _map(function: Callable[[Leaf], Any], tree: Tree) -> Any:
    """Apply a function to every leaf, keeping the structure."""
    if isinstance(tree, dict):
        return {key: _map(function, part) for key, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple([_map(function, part) for part in tree])
    return function(tree)


@singledispatch
def storage(space: Space[Any]) -> Tree:
    """Return the arrays that hold one value of the space, as leaves with offset 0.

    A ``functools.singledispatch`` function: register a custom space to support layouts of it.

    Raises:
        CustomSpaceError: The size of a value is not fixed, or the space is not registered.
        SpaceTypeError: ``space`` is not a space.
    """
    refuse("storage", space)


@storage.register(Box | Discrete | MultiBinary | MultiDiscrete)
def _store_array(space: Box | Discrete | MultiBinary | MultiDiscrete) -> Tree:
    return Leaf(0, space.dtype, space.shape)


@storage.register(Text)
def _store_text(space: Text) -> Tree:
    return Leaf(0, np.dtype(np.int32), (space.max_length,))


@storage.register(Tuple)
def _store_tuple(space: Tuple) -> Tree:
    return tuple(storage(part) for part in space.spaces)


@storage.register(Dict)
def _store_dict(space: Dict) -> Tree:
    return {key: storage(part) for key, part in space.spaces.items()}


@storage.register(OneOf)
def _store_oneof(space: OneOf) -> Tree:
    return (Leaf(0, np.dtype(np.int64), ()), *(storage(part) for part in space.spaces))


@storage.register(Graph | Sequence)
def _store_nothing(space: Graph | Sequence) -> Tree:
    raise CustomSpaceError(
        f"{space} has members of any size, so no fixed place in memory can be laid out for it"
    )
