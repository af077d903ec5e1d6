"""Observations out of memory: read from the private copy of an answer and checked.

The checks are those of ``ludus.codec.admit``, in forms that are quick for what is common: a few
numbers are compared one by one, many by NumPy. Whatever fails is put before ``admit`` again, which
says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.codec import admit
from ludus.errors import Inadmissible
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple, batch_space

__all__ = ["batch_reader", "row_reader"]

Reader = Callable[[], Any]
"""Returns a member of the space in memory of its own, or raises ``Inadmissible``."""

Judge = Callable[[Any], Any]
"""Returns what is admitted of a value, or raises ``Inadmissible``."""

_FEW = 24


def row_reader(
    space: Space[Any], views: Any, name: str = "observation", rounding_steps: int = 0
) -> Reader:
    """Return what reads one environment's observation from arrays with a single row."""
    if isinstance(space, Dict | Tuple):
        return _parts_reader(space, views, name, rounding_steps, row_reader)
    if isinstance(space, Discrete):
        return _number_reader(space, views, name)
    return _array_reader(space, views[0], _judge(space, name, rounding_steps), name)


def batch_reader(
    space: Space[Any], views: Any, name: str = "observation", rounding_steps: int = 0
) -> Reader:
    """Return what reads the observations of all environments."""
    if isinstance(space, Dict | Tuple):
        return _parts_reader(space, views, name, rounding_steps, batch_reader)
    batch = batch_space(space, len(views))
    return _array_reader(batch, views, _judge(batch, name, rounding_steps), name)


def _judge(space: Space[Any], name: str, rounding_steps: int) -> Judge:
    return lambda value: admit(space, value, name=name, rounding_steps=rounding_steps)


def _parts_reader(
    space: Dict | Tuple,
    views: Any,
    name: str,
    rounding_steps: int,
    make: Callable[[Space[Any], Any, str, int], Reader],
) -> Reader:
    if isinstance(space, Dict):
        named = {
            key: make(part, views[key], f"{name}[{key!r}]", rounding_steps)
            for key, part in space.spaces.items()
        }
        return lambda: {key: read() for key, read in named.items()}
    readers = [
        make(part, view, f"{name}[{i}]", rounding_steps)
        for i, (part, view) in enumerate(zip(space.spaces, views, strict=True))
    ]
    return lambda: tuple([read() for read in readers])


def _number_reader(space: Discrete, views: Any, name: str) -> Reader:
    item, first = views.item, int(space.start)
    last = first + int(space.n) - 1

    def read() -> int:
        number: int = item(0)
        if not first <= number <= last:
            raise Inadmissible(
                f"{name} is not admitted: {number} is not within {first} and {last}.", path=name
            )
        return number

    return read


def _array_reader(space: Any, view: Any, judge: Judge, name: str) -> Reader:
    low, high = _bounds(space)
    if view.dtype == np.bool_:
        return _bool_reader(view, judge, name)
    if view.dtype.kind in "iu" and _is_whole_range(view.dtype, low, high):
        return view.copy  # type: ignore[no-any-return]
    if view.size <= _FEW:
        return _few_reader(view, low, high, judge)
    return _many_reader(view, low, high, judge)


def _few_reader(view: Any, low: Any, high: Any, judge: Judge) -> Reader:
    copy, flat = view.copy, view.ndim == 1
    pairs = zip(low.ravel().tolist(), high.ravel().tolist(), strict=True)
    bounds = [(i, *pair) for i, pair in enumerate(pairs) if pair != (-np.inf, np.inf)]

    def read() -> Any:
        array = copy()
        numbers = array.tolist() if flat else array.ravel().tolist()
        for place, least, most in bounds:
            # Written so that nan, of which no comparison is true, fails.
            if not least <= numbers[place] <= most:
                return judge(array)
        total = sum(numbers)
        # One nan makes the sum a nan. So do infinities of both signs, which admit lets pass.
        return array if total == total else judge(array)

    return read


def _many_reader(view: Any, low: Any, high: Any, judge: Judge) -> Reader:
    copy, size = view.copy, view.size
    above, below = np.empty(view.shape, np.bool_), np.empty(view.shape, np.bool_)
    at_least, at_most, both, count = (
        np.greater_equal,
        np.less_equal,
        np.logical_and,
        np.count_nonzero,
    )

    def read() -> Any:
        array = copy()
        both(at_least(array, low, above), at_most(array, high, below), above)
        if count(above) != size:
            return judge(array)
        return array

    return read


def _bool_reader(view: Any, judge: Judge, name: str) -> Reader:
    numbers = view.view(np.uint8)

    def read() -> Any:
        # As bytes until they are known to be bools.
        array = numbers.copy()
        if array.size and array.max() > 1:
            raise Inadmissible(f"{name} is not admitted: it holds a byte that is no bool.")
        made = array.view(np.bool_)
        return judge(made)

    return read


def _bounds(space: Any) -> tuple[Any, Any]:
    if isinstance(space, Box):
        return space.low, space.high
    if isinstance(space, MultiBinary):
        return np.zeros(space.shape, np.int8), np.ones(space.shape, np.int8)
    if isinstance(space, MultiDiscrete):
        return space.start, space.start + (space.nvec - 1)
    raise TypeError(f"{type(space).__name__} has no bounds.")


def _is_whole_range(dtype: np.dtype[Any], low: Any, high: Any) -> bool:
    limits = np.iinfo(dtype)
    return bool((low == limits.min).all() and (high == limits.max).all())
