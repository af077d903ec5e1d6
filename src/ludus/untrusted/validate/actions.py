"""Actions into memory, checked as far as that needs no knowledge of the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.errors import InvalidAction
from ludus.spaces import Box, Dict, Discrete, Space, Tuple, batch_space

__all__ = ["action_writer"]

Writer = Callable[[Any], None]
"""Stores an action, or raises ``InvalidAction``."""


def action_writer(space: Space[Any], views: Any, num_envs: int | None) -> Writer:
    """Return what stores an action, or one per environment.

    Floats are cast to the space's dtype, and their bounds left to the environment, as outside of
    a sandbox; everything else must be a member of the space.
    """
    if isinstance(space, Dict):
        named = {
            key: action_writer(part, views[key], num_envs) for key, part in space.spaces.items()
        }
        return _dict_writer(space, named)
    if isinstance(space, Tuple):
        writers = [
            action_writer(part, view, num_envs)
            for part, view in zip(space.spaces, views, strict=True)
        ]
        return _tuple_writer(space, writers)
    if num_envs is None and isinstance(space, Discrete):
        return _number_writer(space, views)
    if num_envs is None:
        return _array_writer(space, views[0])
    return _array_writer(batch_space(space, num_envs), views)


def _number_writer(space: Discrete, views: Any) -> Writer:
    first, last = int(space.start), int(space.start) + int(space.n) - 1
    int64, put = np.int64, views.__setitem__

    def write(action: Any) -> None:
        kind = action.__class__
        if not ((kind is int or kind is int64) and first <= action <= last) and not space.contains(
            action
        ):
            _refuse(space, action)
        put(0, action)

    return write


def _array_writer(space: Any, view: Any) -> Writer:
    floats = isinstance(space, Box) and space.dtype.kind == "f"
    kinds = "fiub" if floats else "iub"
    shape, size, (low, high) = view.shape, view.size, _range(space)
    above, below = np.empty(shape, np.bool_), np.empty(shape, np.bool_)
    at_least, at_most, count = np.greater_equal, np.less_equal, np.count_nonzero

    def write(action: Any) -> None:
        given = action if action.__class__ is np.ndarray else np.asarray(action)
        if given.shape != shape or given.dtype.kind not in kinds:
            _refuse(space, action)
        if not floats:
            at_least(given, low, above)
            at_most(given, high, below)
            if count(above) + count(below) != 2 * size:
                _refuse(space, action)
        view[...] = given

    return write


def _range(space: Any) -> tuple[Any, Any]:
    if isinstance(space, Box):
        return space.low, space.high
    if hasattr(space, "nvec"):
        return space.start, space.start + (space.nvec - 1)
    return 0, 1


def _dict_writer(space: Dict, writers: dict[Any, Writer]) -> Writer:
    def write(action: Any) -> None:
        if not isinstance(action, dict) or action.keys() != writers.keys():
            _refuse(space, action)
        for key, put in writers.items():
            put(action[key])

    return write


def _tuple_writer(space: Tuple, writers: list[Writer]) -> Writer:
    def write(action: Any) -> None:
        if not isinstance(action, tuple | list) or len(action) != len(writers):
            _refuse(space, action)
        for put, part in zip(writers, action, strict=True):
            put(part)

    return write


def _refuse(space: Space[Any], action: Any) -> None:
    raise InvalidAction(f"{action!r} ({type(action)}) invalid: expected a member of {space}.")
