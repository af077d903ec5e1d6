"""Spaces of batches of n values; the functions for batches themselves are imported here too.

``batch_space`` and ``batch_differing_spaces`` are ``functools.singledispatch`` functions:
``batch_space.register(MySpace)`` adds a type of space.
"""

# ruff: noqa: ARG001 - all implementations of a function share one signature

from __future__ import annotations

from collections.abc import Sequence as SequenceABC
from copy import deepcopy
from functools import singledispatch
from typing import Any

import numpy as np

from ludus.spaces.batch_values import concatenate, create_empty_array, iterate, refuse
from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import SpaceTypeError, SpaceValueError
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = [
    "batch_differing_spaces",
    "batch_space",
    "concatenate",
    "create_empty_array",
    "differing_as_tuple",
    "iterate",
]


@singledispatch
def batch_space(space: Space[Any], n: int = 1) -> Space[Any]:
    """Return the space of batches of ``n`` values of ``space``.

    Arrays get a leading axis; ``Tuple`` and ``Dict`` are batched part by part; other spaces become
    a ``Tuple`` of n copies with different seeds.

    Raises:
        SpaceTypeError: ``space`` is not a space.

    Example:
        >>> batch_space(Dict(a=Box(0, 1, shape=(3,)), b=Discrete(4)), n=5)
        Dict('a': Box(0.0, 1.0, (5, 3), float32), 'b': MultiDiscrete([4 4 4 4 4]))
    """
    refuse("batch_space", space)


@batch_space.register(Box)
def _batch_box(space: Box, n: int = 1) -> Box:
    low, high = (np.repeat(bound[np.newaxis], n, axis=0) for bound in (space.low, space.high))
    return Box(low, high, dtype=space.dtype, seed=deepcopy(space.np_random))


@batch_space.register(Discrete)
def _batch_discrete(space: Discrete, n: int = 1) -> MultiDiscrete:
    return MultiDiscrete(
        np.full(n, space.n),
        dtype=space.dtype,
        seed=deepcopy(space.np_random),
        start=np.full(n, space.start),
    )


@batch_space.register(MultiDiscrete)
def _batch_multi_discrete(space: MultiDiscrete, n: int = 1) -> Box:
    largest = space.start + (space.nvec - 1)
    low, high = (np.repeat(bound[np.newaxis], n, axis=0) for bound in (space.start, largest))
    return Box(low, high, dtype=space.dtype, seed=deepcopy(space.np_random))


@batch_space.register(MultiBinary)
def _batch_multi_binary(space: MultiBinary, n: int = 1) -> Box:
    return Box(0, 1, (n, *space.shape), space.dtype, seed=deepcopy(space.np_random))


@batch_space.register(Tuple)
def _batch_tuple(space: Tuple, n: int = 1) -> Tuple:
    parts = [batch_space(part, n=n) for part in space.spaces]
    return Tuple(parts, seed=deepcopy(space.np_random))


@batch_space.register(Dict)
def _batch_dict(space: Dict, n: int = 1) -> Dict:
    parts = {key: batch_space(part, n=n) for key, part in space.spaces.items()}
    return Dict(parts, seed=deepcopy(space.np_random), sort_keys=space.sort_keys)


@batch_space.register(Space)
def _batch_any(space: Space[Any], n: int = 1) -> Tuple:
    # Copied, because sampling the batch must not advance the generator of the single space.
    rng = deepcopy(space.np_random)
    batch = Tuple([deepcopy(space) for _ in range(n)], seed=deepcopy(rng))
    batch.seed([int(seed) for seed in rng.integers(0, 10**8, n)])
    return batch


@singledispatch
def batch_differing_spaces(spaces: Any) -> Space[Any]:
    """Return the space of batches with one value of each of ``spaces``, which may differ in bounds.

    Args:
        spaces: A sequence of spaces of the same type.

    Raises:
        SpaceValueError: There are none, or their shapes, dtypes or keys differ.
        SpaceTypeError: They are of different types, or of a type that is not registered.

    Example:
        >>> batch_differing_spaces([Discrete(3), Discrete(5), Discrete(4)])
        MultiDiscrete([3 5 4])
    """
    if len(spaces) == 0:
        raise SpaceValueError("There is nothing to batch: got an empty list of spaces")
    kind = type(spaces[0])
    if not all(isinstance(space, kind) for space in spaces):
        raise SpaceTypeError(
            "Only spaces of the same type form a batch, got the types "
            f"{[type(space).__name__ for space in spaces]}"
        )
    if kind not in batch_differing_spaces.registry:
        known = sorted(entry.__name__ for entry in batch_differing_spaces.registry)
        raise SpaceTypeError(
            f"{kind} has no registered `batch_differing_spaces`, only {known} have; add it with "
            "`batch_differing_spaces.register`"
        )
    batch: Space[Any] = batch_differing_spaces.dispatch(kind)(spaces)
    return batch


def _check_same(what: str, values: list[Any]) -> None:
    if any(value != values[0] for value in values):
        raise SpaceValueError(f"{what} must be equal to form a batch, got {values}")


@batch_differing_spaces.register(Box)
def _differing_boxes(spaces: SequenceABC[Box]) -> Box:
    _check_same("Box dtypes", [space.dtype for space in spaces])
    _check_same("Box shapes (low and high)", [space.shape for space in spaces])
    return Box(
        np.array([space.low for space in spaces]),
        np.array([space.high for space in spaces]),
        dtype=spaces[0].dtype,
        seed=deepcopy(spaces[0].np_random),
    )


@batch_differing_spaces.register(Discrete)
def _differing_discretes(spaces: SequenceABC[Discrete]) -> MultiDiscrete:
    dtypes = [space.dtype for space in spaces]
    dtype: np.dtype[Any] = np.result_type(*dtypes)
    if dtype.kind not in "iu":
        raise SpaceValueError(f"Discrete dtypes must have a common integer dtype, got {dtypes}")
    return MultiDiscrete(
        np.array([space.n for space in spaces]),
        dtype=dtype,
        seed=deepcopy(spaces[0].np_random),
        start=np.array([space.start for space in spaces]),
    )


@batch_differing_spaces.register(MultiDiscrete)
def _differing_multi_discretes(spaces: SequenceABC[MultiDiscrete]) -> Box:
    _check_same("MultiDiscrete dtypes", [space.dtype for space in spaces])
    _check_same("MultiDiscrete.nvec shapes", [space.shape for space in spaces])
    return Box(
        np.array([space.start for space in spaces]),
        np.array([space.start + (space.nvec - 1) for space in spaces]),
        dtype=spaces[0].dtype,
        seed=deepcopy(spaces[0].np_random),
    )


@batch_differing_spaces.register(MultiBinary)
def _differing_multi_binaries(spaces: SequenceABC[MultiBinary]) -> Box:
    _check_same("MultiBinary shapes", [space.shape for space in spaces])
    return _batch_multi_binary(spaces[0], len(spaces))


@batch_differing_spaces.register(Tuple)
def _differing_tuples(spaces: SequenceABC[Tuple]) -> Tuple:
    _check_same("Tuple lengths", [len(space) for space in spaces])
    columns = zip(*[space.spaces for space in spaces], strict=True)
    return Tuple(
        [batch_differing_spaces(column) for column in columns],
        seed=deepcopy(spaces[0].np_random),
    )


@batch_differing_spaces.register(Dict)
def _differing_dicts(spaces: SequenceABC[Dict]) -> Dict:
    first = spaces[0]
    if any(space.spaces.keys() != first.spaces.keys() for space in spaces):
        raise SpaceValueError(
            "Dict spaces must have the same keys to form a batch, got "
            f"{[list(space.spaces) for space in spaces]}"
        )
    return Dict(
        {key: batch_differing_spaces([space[key] for space in spaces]) for key in first.spaces},
        seed=deepcopy(first.np_random),
        sort_keys=first.sort_keys,
    )


@batch_differing_spaces.register(OneOf | Text)
def differing_as_tuple(spaces: SequenceABC[Space[Any]]) -> Tuple:
    """Batch spaces whose values are not arrays, as a tuple of copies."""
    return Tuple([deepcopy(space) for space in spaces], seed=deepcopy(spaces[0].np_random))
