"""The numbers that an action or an observation consists of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ludus.errors import KernelError
from ludus.kernel.contract import Kernel
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["action_bounds", "action_kinds", "observation_dtype", "row_count", "tuple_parts"]


def action_kinds(kernel: Kernel, space: Space[Any]) -> list[str]:
    """Return ``"int"`` or ``"float"`` for each number of an action."""
    if isinstance(space, Discrete):
        return ["int"]
    if isinstance(space, Tuple) and all(isinstance(part, Discrete) for part in space.spaces):
        return ["int"] * len(space.spaces)
    if isinstance(space, MultiDiscrete | MultiBinary) and len(space.shape) == 1:
        return ["int"] * space.shape[0]
    if isinstance(space, Box) and len(space.shape) == 1:
        return ["float" if space.dtype.kind == "f" else "int"] * space.shape[0]
    raise KernelError(
        f"Kernel {kernel.name}: actions of {space} are not supported; use Discrete, MultiDiscrete, "
        "a one-dimensional Box, or a Tuple of Discrete."
    )


def row_count(kernel: Kernel, space: Space[Any]) -> int:
    """Return how many numbers an observation has; 0 if the kernel fills an array."""
    if kernel.writes_observation:
        return 0
    if isinstance(space, Discrete):
        return 1
    if isinstance(space, Tuple):
        return sum(1 if isinstance(part, Discrete) else _size(part) for part in space.spaces)
    if isinstance(space, Box | MultiDiscrete | MultiBinary) and len(space.shape) == 1:
        return int(space.shape[0])
    raise KernelError(
        f"Kernel {kernel.name}: observations of {space} do not fit numbers; write "
        "observation(params, state, out) instead."
    )


def _size(space: Space[Any]) -> int:
    return int(np.prod(space.shape)) if space.shape else 1


def observation_dtype(space: Space[Any]) -> Any:
    """Return the dtype in which the numbers of an observation are stored."""
    if isinstance(space, (Discrete, Box, MultiDiscrete, MultiBinary)):
        return space.dtype
    if isinstance(space, Tuple) and any(isinstance(part, Box) for part in space.spaces):
        return np.dtype(np.float64)
    return np.dtype(np.int64)


def tuple_parts(space: Tuple) -> Iterator[tuple[Space[Any], int | slice, Any]]:
    """Yield each part's space, the rows that hold it, and the dtype in which it is returned.

    The rows are an index for a Discrete, a slice otherwise.
    """
    at = 0
    for part in space.spaces:
        if isinstance(part, Discrete):
            yield part, at, np.int64
            at += 1
        else:
            yield part, slice(at, at + _size(part)), part.dtype
            at += _size(part)


def action_bounds(space: Space[Any], count: int) -> Any:
    """Return the lowest and highest value of each int of an action."""
    if isinstance(space, Discrete):
        bounds = [(int(space.start), int(space.start) + int(space.n) - 1)]
    elif isinstance(space, Tuple):
        bounds = [action_bounds(part, 1)[0] for part in space.spaces]
    elif isinstance(space, MultiDiscrete):
        ends = space.start + space.nvec - 1
        bounds = list(zip(space.start.tolist(), ends.tolist(), strict=True))
    elif isinstance(space, Box) and space.dtype.kind in "iu":
        bounds = list(zip(space.low.tolist(), space.high.tolist(), strict=True))
    else:
        bounds = [(0, 1)] * count
    return np.array(bounds, np.int64).reshape(count, 2)
