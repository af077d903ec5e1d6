"""Actions and observations of batches and of many steps: their form, checked and stacked.

A value for several environments or steps has them along its first axes: an array for spaces of
arrays, a dict or tuple of such for ``Dict`` and ``Tuple``, and a tuple of members, or a tuple of
such tuples, for any other space.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Values
from typing import Any

import numpy as np

from ludus.codec import DecodeLimits, admit
from ludus.errors import Inadmissible, InvalidAction
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
)

__all__ = [
    "action_reader",
    "lead_length",
    "observation_reader",
    "part_of",
    "row_bytes",
    "stacked",
]

Lead = tuple[int, ...]
"""Lengths of the first axes: steps, environments, both, or none."""

_ADMITTED = (Graph, OneOf, Sequence, Text)
_ARRAYS = (Box, Discrete, MultiBinary, MultiDiscrete)


def stacked(space: Space[Any], values: Values[Any]) -> Any:
    """Return values of the same form along a new first axis; ``space`` is a single member's."""
    if isinstance(space, Dict):
        return {
            key: stacked(part, [value[key] for value in values])
            for key, part in space.spaces.items()
        }
    if isinstance(space, Tuple):
        return tuple(
            [stacked(part, [value[i] for value in values]) for i, part in enumerate(space.spaces)]
        )
    if isinstance(space, _ARRAYS):
        made: Any = np.array(values, space.dtype)
        return made
    return tuple(values)


def part_of(space: Space[Any], values: Any, index: Any) -> Any:
    """Return one entry along the first axis of what :func:`stacked` returns."""
    if isinstance(space, Dict):
        return {key: part_of(part, values[key], index) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple([part_of(p, values[i], index) for i, p in enumerate(space.spaces)])
    return values[index]


def lead_length(space: Space[Any], values: Any) -> int:
    """Return the length of the first axis of values for several steps or environments.

    Raises:
        TypeError, LookupError: They have no such axis.
    """
    if isinstance(space, Dict):
        key, part = next(iter(space.spaces.items()))
        return lead_length(part, values[key])
    if isinstance(space, Tuple):
        return lead_length(space.spaces[0], values[0])
    return len(values)


def row_bytes(space: Space[Any]) -> int:
    """Return how many bytes the arrays of one member take; other parts are not counted."""
    if isinstance(space, Dict):
        return sum(map(row_bytes, space.spaces.values()))
    if isinstance(space, Tuple):
        return sum(map(row_bytes, space.spaces))
    if isinstance(space, _ARRAYS):
        return int(np.dtype(space.dtype).itemsize * np.prod(space.shape, dtype=np.int64))
    return 0


# --- actions --------------------------------------------------------------------------------------


def action_reader(space: Space[Any]) -> Callable[[Any, Lead], Any]:
    """Return the function that brings actions into the form that is sent, and checks them.

    It takes the actions and the lengths of their first axes. Floats are cast to the space's dtype
    and their bounds left to the environment; everything else must be a member. The function raises
    :class:`InvalidAction`.
    """
    if isinstance(space, Dict):
        parts = {key: action_reader(part) for key, part in space.spaces.items()}
        return _dict_action(space, parts)
    if isinstance(space, Tuple):
        return _tuple_action(space, [action_reader(part) for part in space.spaces])
    if isinstance(space, _ARRAYS):
        return _array_action(space)
    return lambda action, lead: _members(space, action, lead)


def _dict_action(
    space: Dict, parts: dict[Any, Callable[[Any, Lead], Any]]
) -> Callable[[Any, Lead], Any]:
    def read(action: Any, lead: Lead) -> Any:
        if not isinstance(action, dict) or action.keys() != parts.keys():
            _refuse(space, action, lead)
        return {key: part(action[key], lead) for key, part in parts.items()}

    return read


def _tuple_action(
    space: Tuple, parts: list[Callable[[Any, Lead], Any]]
) -> Callable[[Any, Lead], Any]:
    def read(action: Any, lead: Lead) -> Any:
        if not isinstance(action, tuple | list) or len(action) != len(parts):
            _refuse(space, action, lead)
        return tuple([part(item, lead) for part, item in zip(parts, action, strict=True)])

    return read


def _array_action(space: Any) -> Callable[[Any, Lead], Any]:
    dtype, shape = np.dtype(space.dtype), tuple(space.shape)
    floats = isinstance(space, Box) and dtype.kind == "f"
    kinds = "fiub" if floats else "iub"
    low, high = _bounds(space)
    single = isinstance(space, Discrete)

    def read(action: Any, lead: Lead) -> Any:
        if single and not lead and type(action) is int and low <= action <= high:
            return action
        try:
            given = action if type(action) is np.ndarray else np.asarray(action)
        except ValueError:
            _refuse(space, action, lead)
        if given.shape != lead + shape or given.dtype.kind not in kinds:
            _refuse(space, action, lead)
        if not floats and given.size and not ((given >= low) & (given <= high)).all():
            _refuse(space, action, lead)
        made = given.astype(dtype, copy=False)
        return int(made) if single and not lead else made

    return read


def _members(space: Space[Any], action: Any, lead: Lead) -> Any:
    """Check actions of a space without arrays, which are a tuple along each of the first axes."""
    if not lead:
        if not space.contains(action):
            _refuse(space, action, lead)
        return action
    if not isinstance(action, tuple | list) or len(action) != lead[0]:
        _refuse(space, action, lead)
    return tuple([_members(space, part, lead[1:]) for part in action])


def _refuse(space: Space[Any], action: Any, lead: Lead) -> None:
    of = " × ".join(map(str, lead))
    expected = f"{of} members" if lead else "a member"
    raise InvalidAction(
        f"{action!r:.300} ({type(action)}) invalid: expected {expected} of {space!s:.300}."
    )


# --- observations ---------------------------------------------------------------------------------


def observation_reader(space: Space[Any], limits: DecodeLimits) -> Callable[[Any, Lead, str], Any]:
    """Return the function that checks decoded observations, with their first axes and a name.

    Arrays must have the space's dtype, shape and bounds; they are not copied, because decoding has
    made them. The function raises :class:`Inadmissible`.
    """
    if isinstance(space, Dict):
        parts = {key: observation_reader(part, limits) for key, part in space.spaces.items()}
        return _dict_observation(parts)
    if isinstance(space, Tuple):
        return _tuple_observation([observation_reader(part, limits) for part in space.spaces])
    if isinstance(space, _ARRAYS):
        return _array_observation(space)

    def read(value: Any, lead: Lead, name: str) -> Any:
        if not lead and type(space) in _ADMITTED:
            return admit(space, value, limits=limits, name=name)
        if not lead:
            # A space of its own kind says itself what it contains.
            if not space.contains(value):
                raise Inadmissible(f"{name} is not in {space!s:.300}.", path=name)
            return value
        if type(value) not in (tuple, list) or len(value) != lead[0]:
            raise Inadmissible(f"{name} is no tuple of {lead[0]} entries.", path=name)
        return tuple([read(part, lead[1:], f"{name}[{i}]") for i, part in enumerate(value)])

    return read


def _dict_observation(parts: dict[Any, Any]) -> Callable[[Any, Lead, str], Any]:
    def read(value: Any, lead: Lead, name: str) -> Any:
        if type(value) is not dict or value.keys() != parts.keys():
            raise Inadmissible(f"{name} is no dict with the keys {list(parts)!s:.300}.", path=name)
        return {key: part(value[key], lead, f"{name}[{key!r}]") for key, part in parts.items()}

    return read


def _tuple_observation(parts: list[Any]) -> Callable[[Any, Lead, str], Any]:
    def read(value: Any, lead: Lead, name: str) -> Any:
        if type(value) is not tuple or len(value) != len(parts):
            raise Inadmissible(f"{name} is no tuple of {len(parts)} parts.", path=name)
        pairs = enumerate(zip(parts, value, strict=True))
        return tuple([part(item, lead, f"{name}[{i}]") for i, (part, item) in pairs])

    return read


def _array_observation(space: Any) -> Callable[[Any, Lead, str], Any]:
    dtype, shape = np.dtype(space.dtype), tuple(space.shape)
    low, high = _bounds(space)
    whole = dtype.kind in "iu" and _is_whole_range(dtype, low, high)

    def read(value: Any, lead: Lead, name: str) -> Any:
        if not lead:
            return admit(space, value, name=name)
        if type(value) is not np.ndarray or value.dtype != dtype or value.shape != lead + shape:
            found = f"{getattr(value, 'dtype', type(value).__name__)}"
            raise Inadmissible(
                f"{name} is no array of {dtype} and shape {lead + shape}: it is {found} "
                f"{getattr(value, 'shape', '')}.",
                path=name,
            )
        # Written so that nan, of which no comparison is true, fails.
        if not whole and not ((value >= low) & (value <= high)).all():
            raise Inadmissible(f"{name} is outside of {space!s:.300}.", path=name)
        return value

    return read


def _bounds(space: Any) -> tuple[Any, Any]:
    if isinstance(space, Box):
        return space.low, space.high
    if isinstance(space, MultiBinary):
        return 0, 1
    if isinstance(space, Discrete):
        return int(space.start), int(space.start) + int(space.n) - 1
    return space.start, space.start + (space.nvec - 1)


def _is_whole_range(dtype: np.dtype[Any], low: Any, high: Any) -> bool:
    limits = np.iinfo(dtype)
    return bool((np.asarray(low) == limits.min).all() and (np.asarray(high) == limits.max).all())
