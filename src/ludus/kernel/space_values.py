"""The numbers of observations and actions, and their conversion between spaces and storage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ludus.core.finite import not_finite
from ludus.errors import InvalidAction, KernelError
from ludus.kernel.contract import Kernel
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = [
    "action_bounds",
    "action_kinds",
    "action_reader",
    "observation_dtype",
    "observation_reader",
    "observation_source",
    "row_count",
    "tuple_parts",
]


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


def observation_source(kernel: Kernel, space: Space[Any], rows: Any) -> tuple[str, Any]:
    """Return how an observation is read, and its source.

    ``"copy"`` and the array to copy; ``"int"`` and an array of one int; ``"call"`` and a function
    that returns the observation.
    """
    if kernel.writes_observation:
        return "copy", rows[0]
    if isinstance(space, Discrete):
        cell = rows.reshape(-1)
        return ("int", cell) if cell.dtype == np.int64 else ("call", lambda: cell.item(0))
    if isinstance(space, Tuple):
        return "call", lambda: _split(space, rows[:, 0])
    return "copy", rows[:, 0]


def observation_reader(how: str, source: Any) -> Callable[[], Any]:
    """Return a function that reads the observation from its source."""
    if how == "copy":
        return source.copy  # type: ignore[no-any-return]
    return (lambda: source.item(0)) if how == "int" else source


def _split(space: Tuple, numbers: Any) -> tuple[Any, ...]:
    return tuple(
        int(numbers[at])
        if isinstance(at, int)
        else numbers[at].astype(dtype).reshape(part.shape or ())
        for part, at, dtype in tuple_parts(space)
    )


Reader = Callable[[Any], tuple[Any, ...]]
"""From an action to the arguments of the driver."""


def action_reader(space: Space[Any]) -> Reader:
    """Return a function that converts an action to the arguments of the driver.

    The function raises :class:`InvalidAction` for an action that is not in the space. Floats only
    have to be finite; the kernel handles their bounds.
    """
    if isinstance(space, Discrete):
        return _discrete_reader(space)
    if isinstance(space, Box):
        return _float_reader(space) if space.dtype.kind == "f" else _whole_reader(space)
    if space.shape is None and not isinstance(space, Tuple):
        raise KernelError(f"Actions of {space} are not supported by kernels.")
    return _member_reader(space)


def _discrete_reader(space: Discrete) -> Reader:
    start, stop = int(space.start), int(space.start) + int(space.n)

    def read(action: Any) -> tuple[int]:
        kind = action.__class__
        if (kind is int or kind is np.int64) and start <= action < stop:
            return (int(action),)
        if not space.contains(action):
            raise InvalidAction(
                f"{action!r} ({type(action)}) invalid: expected an integer from {start} to "
                f"{stop - 1}."
            )
        return (int(action),)

    return read


def _float_reader(space: Box) -> Reader:
    size = space.shape[0]

    def read(action: Any) -> tuple[float, ...]:
        try:
            numbers = tuple(map(float, action))
        except (TypeError, ValueError) as problem:
            raise InvalidAction(
                f"{action!r} ({type(action)}) invalid: expected {size} numbers, {space}."
            ) from problem
        if len(numbers) != size:
            raise InvalidAction(f"{action!r} invalid: expected {size} numbers, {space}.")
        if not all(map(math.isfinite, numbers)):
            raise not_finite(action, space)
        return numbers

    return read


def _whole_reader(space: Box) -> Reader:
    def read(action: Any) -> tuple[int, ...]:
        given = np.asarray(action)
        whole = given.dtype.kind in "iu" and given.shape == space.shape
        if not (whole and (space.low <= given).all() and (given <= space.high).all()):
            raise InvalidAction(
                f"{action!r} ({type(action)}) invalid: expected whole numbers, {space}."
            )
        return tuple(given.tolist())

    return read


def _member_reader(space: Space[Any]) -> Reader:
    takes_lists = isinstance(space, Tuple)

    def read(action: Any) -> tuple[int, ...]:
        given = tuple(action) if takes_lists and isinstance(action, list) else action
        if not space.contains(given):
            raise InvalidAction(f"{action!r} ({type(action)}) invalid: expected one of {space}.")
        return tuple(map(int, given))

    return read
