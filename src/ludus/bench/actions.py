"""Making an agent's answer an action of the space, without bending its meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.bench.faults import AgentFault
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["action_reader"]


def action_reader(space: Space[Any]) -> Callable[[Any], Any]:
    """Return a function that gives an agent's answer as an action of the space.

    Lists become arrays or tuples, and numbers get the dtype of the space, as long as that keeps
    their kind; arrays of one number become that number where one is asked for.

    Raises:
        AgentFault: (The function.) The answer is not in the space.
    """
    convert = _converter(space)

    def read(answer: Any) -> Any:
        try:
            action = convert(answer)
            valid = space.contains(action)
        except (TypeError, ValueError, OverflowError):
            valid = False
        if not valid:
            raise AgentFault(f"invalid action {answer!r:.200} for {space!r:.200}")
        return action

    return read


def _converter(space: Space[Any]) -> Callable[[Any], Any]:
    if isinstance(space, Discrete):
        return _number
    if isinstance(space, Box | MultiDiscrete | MultiBinary):
        return lambda answer: _array(answer, space.dtype)
    if isinstance(space, Tuple):
        parts = [_converter(part) for part in space.spaces]
        return lambda answer: tuple(read(value) for read, value in zip(parts, answer, strict=True))
    return lambda answer: answer


def _number(answer: Any) -> Any:
    return answer.item() if isinstance(answer, np.ndarray) and answer.size == 1 else answer


def _array(answer: Any, dtype: Any) -> Any:
    array = np.asarray(answer)
    if array.dtype == dtype:
        return array
    whole = array.dtype.kind in "biu"
    if not (whole or array.dtype.kind == np.dtype(dtype).kind == "f"):
        raise TypeError(f"{array.dtype} is not of the kind of {dtype}")
    action = array.astype(dtype)
    if whole and not np.array_equal(action, array):
        raise ValueError(f"{dtype} does not hold these numbers")
    return action
