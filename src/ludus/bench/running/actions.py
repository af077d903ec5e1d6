"""Making an agent's answer an action of the space, without bending its meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.errors import AgentFailed
from ludus.record.format.values import Coded, encoded
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["action_reader"]

_EXACT = frozenset({bool, int, *np.sctypeDict.values()})


def action_reader(space: Space[Any]) -> Callable[[Any], Any]:
    """Return a function that gives an agent's answer as an action of the space.

    Lists become arrays or tuples, and numbers get the dtype of the space, as long as that keeps
    their kind; arrays of one number become that number where one is asked for. An action holds no
    object of the agent's own classes, whose methods the environment would call.

    Raises:
        AgentFailed: (The function.) The answer is not in the space.
        BaseException: (The function.) Whatever the answer's own methods raise.
    """
    convert = _converter(space)

    def read(answer: Any) -> Any:
        try:
            action = convert(answer)
            valid = space.contains(action)
        except Exception:  # the answer's own methods may raise anything
            valid = False
        if not valid:
            raise AgentFailed(f"invalid action {_shown(answer)} for {space!r:.200}")
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
    if isinstance(space, Dict):
        named = {key: _converter(part) for key, part in space.spaces.items()}
        return lambda answer: _mapping(answer, named)
    how = Coded("action", space)
    return lambda answer: how.decoded(encoded("action", answer))


def _shown(answer: Any) -> str:
    try:
        return f"{answer!r:.200}"
    except Exception:  # its own code
        return f"of {type(answer)!r:.100}, which cannot be shown,"


def _mapping(answer: Any, named: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    if len(answer) != len(named):
        raise ValueError("other keys than the space's")
    return {key: read(answer[key]) for key, read in named.items()}


def _number(answer: Any) -> Any:
    if type(answer) in _EXACT:
        return answer
    if isinstance(answer, np.ndarray):
        array = np.asarray(answer)
        return array.item() if array.size == 1 else array
    # A subclass has methods of its own; the number in it is what is meant.
    if isinstance(answer, int):
        return int.__int__(answer)
    return np.generic.item(answer) if isinstance(answer, np.generic) else answer


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
