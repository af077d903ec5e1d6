"""Values of a space between an environment and the memory of the channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.spaces import Dict, Discrete, Space, Tuple

__all__ = ["Reader", "Writer", "batch_reader", "batch_writer", "row_reader", "row_writer"]

Writer = Callable[[Any], bool]
"""Stores a value, or returns False if it is not of exactly the declared form."""
Reader = Callable[[], Any]


def row_writer(space: Space[Any], views: Any) -> Writer:
    """Return what stores one environment's value."""
    if isinstance(space, Discrete):
        return _number_writer(views)
    if isinstance(space, Dict | Tuple):
        return _parts_writer(space, views, row_writer)
    return _array_writer(views[0])


def batch_writer(space: Space[Any], views: Any) -> Writer:
    """Return what stores the values of all environments."""
    if isinstance(space, Dict | Tuple):
        return _parts_writer(space, views, batch_writer)
    return _array_writer(views)


def row_reader(space: Space[Any], views: Any) -> Reader:
    """Return what reads one environment's value, in memory of its own."""
    if isinstance(space, Dict | Tuple):
        return _parts_reader(space, views, row_reader)
    if isinstance(space, Discrete):
        return lambda: views[0]
    return views[0].copy  # type: ignore[no-any-return]


def batch_reader(space: Space[Any], views: Any) -> Reader:
    """Return what reads the values of all environments."""
    if isinstance(space, Dict | Tuple):
        return _parts_reader(space, views, batch_reader)
    return views.copy  # type: ignore[no-any-return]


def _array_writer(view: Any) -> Writer:
    dtype, shape, array = view.dtype, view.shape, np.ndarray

    def write(value: Any) -> bool:
        if value.__class__ is not array or value.shape != shape:
            return False
        found = value.dtype
        if found is not dtype and found != dtype:
            return False
        view[...] = value
        return True

    return write


def _number_writer(view: Any) -> Writer:
    def write(value: Any) -> bool:
        if value.__class__ is not int and not isinstance(value, np.integer):
            return False
        try:
            view[0] = value
        except OverflowError:
            return False
        return True

    return write


def _parts_writer(
    space: Dict | Tuple, views: Any, make: Callable[[Space[Any], Any], Writer]
) -> Writer:
    if isinstance(space, Dict):
        named = {key: make(part, views[key]) for key, part in space.spaces.items()}

        def write_dict(value: Any) -> bool:
            if value.__class__ is not dict or value.keys() != named.keys():
                return False
            return all(write(value[key]) for key, write in named.items())

        return write_dict
    writers = [make(part, view) for part, view in zip(space.spaces, views, strict=True)]

    def write_tuple(value: Any) -> bool:
        if value.__class__ is not tuple or len(value) != len(writers):
            return False
        return all(write(part) for write, part in zip(writers, value, strict=True))

    return write_tuple


def _parts_reader(
    space: Dict | Tuple, views: Any, make: Callable[[Space[Any], Any], Reader]
) -> Reader:
    if isinstance(space, Dict):
        named = {key: make(part, views[key]) for key, part in space.spaces.items()}
        return lambda: {key: read() for key, read in named.items()}
    readers = [make(part, view) for part, view in zip(space.spaces, views, strict=True)]
    return lambda: tuple([read() for read in readers])
