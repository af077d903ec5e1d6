"""How many numbers make up an action or an observation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.errors import KernelError
from ludus.kernel.contract import Kernel
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["action_kinds", "row_count"]


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
