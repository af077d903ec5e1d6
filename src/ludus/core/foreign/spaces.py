"""Converts spaces between Gym, Gymnasium and Ludus.

The libraries agree on the names and attributes of the standard spaces, so one table of builders
serves every direction, and none of the libraries has to be imported to read its spaces.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ludus import spaces
from ludus.core.foreign.space import ForeignSpace, standard_superset
from ludus.errors import CustomSpaceError
from ludus.spaces import Space

__all__ = [
    "SpaceLibrary",
    "from_foreign",
    "no_counterpart",
    "parts_of",
    "rebuild",
    "space_kind",
    "standardized",
]

SpaceLibrary = Any
"""A module, or any object, with the classes ``Box``, ``Discrete``, … as attributes."""

_LIBRARIES = {"gym", "gymnasium", "ludus"}

Convert = Callable[[Any], Any]


def from_foreign(space: Any) -> Space[Any]:
    """Convert a space to a Ludus space; a Ludus space is returned unchanged.

    A part that is not a standard space becomes a :class:`ForeignSpace`.

    Raises:
        CustomSpaceError: ``space``, or a part of it, is not a space.
    """
    if isinstance(space, Space):
        return space
    built: Space[Any] = rebuild(space, spaces, ForeignSpace)
    return built


def standardized(space: Space[Any]) -> Space[Any]:
    """Return a space of standard classes that contains all members of ``space``.

    Raises:
        CustomSpaceError: A part is not standard, and its members are neither texts nor arrays.
    """
    if not _has_foreign_part(space):
        return space
    built: Space[Any] = rebuild(space, spaces, _standard_part)
    return built


def _standard_part(part: Any) -> Space[Any]:
    if not isinstance(part, ForeignSpace):
        raise no_counterpart(part)
    return standard_superset(part)


def _has_foreign_part(space: Any) -> bool:
    return isinstance(space, ForeignSpace) or any(map(_has_foreign_part, parts_of(space)))


def parts_of(space: Any) -> list[Any]:
    """Return the spaces that a standard space of any library is made of."""
    if space_kind(space) is None:
        return []
    parts = [getattr(space, name, None) for name in ("feature_space", "node_space", "edge_space")]
    inner = getattr(space, "spaces", ())
    parts += inner.values() if isinstance(inner, Mapping) else inner
    return [part for part in parts if part is not None]


def no_counterpart(part: Any) -> CustomSpaceError:
    """Return the error for a space that has no counterpart in another library."""
    return CustomSpaceError(
        f"Cannot convert the space {part!r} of type {type(part)}: only the standard "
        f"spaces ({', '.join(sorted(_BUILDERS))}) and their subclasses have a "
        "counterpart. Express it through these, or wrap the environment so that its "
        "spaces are standard ones."
    )


def rebuild(space: Any, library: SpaceLibrary, custom: Callable[[Any], Any] | None = None) -> Any:
    """Build the same space from the classes of ``library``.

    Bounds, dtypes, the order of keys and the random generators are copied, so both spaces contain
    the same values and draw the same samples from then on. Parts that are the same object, or
    share a generator, do so in the new space too.

    Args:
        space: The space.
        library: The module with the classes.
        custom: Converts a copy of a part that is not a standard space.

    Raises:
        CustomSpaceError: A part is not a standard space, and ``custom`` is not given.
    """
    memo: dict[int, Any] = {}
    copies: dict[int, Any] = {}

    def convert(part: Any) -> Any:
        if id(part) not in memo:
            kind = space_kind(part)
            if kind is None and custom is not None:
                memo[id(part)] = custom(copy.deepcopy(part, copies))
                return memo[id(part)]
            if kind is None or not hasattr(library, kind):
                raise no_counterpart(part)
            built = _BUILDERS[kind](part, convert, getattr(library, kind))
            generator = getattr(part, "_np_random", None)
            # Classic Gym's RandomState cannot be continued by a Generator.
            if isinstance(generator, np.random.Generator):
                built._np_random = copy.deepcopy(generator, copies)
            memo[id(part)] = built
        return memo[id(part)]

    return convert(space)


def space_kind(space: object) -> str | None:
    """Return the name of the standard class of ``space``, or of its base class, else ``None``."""
    for cls in type(space).__mro__:
        if cls.__name__ in _BUILDERS and cls.__module__.partition(".")[0] in _LIBRARIES:
            return cls.__name__
    return None


def _box(space: Any, _: Convert, cls: Any) -> Any:
    built = cls(space.low.copy(), space.high.copy(), shape=space.shape, dtype=space.dtype)
    # An unbounded integer box has finite bounds; only these flags tell.
    for side in ("bounded_below", "bounded_above"):
        if hasattr(space, side):
            setattr(built, side, getattr(space, side).copy())
    return built


def _discrete(space: Any, _: Convert, cls: Any) -> Any:
    # Old versions lack the arguments `start` and `dtype`, so defaults are not passed. Where a
    # library has no `dtype`, the space has the same numbers as int64.
    extra: dict[str, Any] = {}
    if getattr(space, "start", 0) != 0:
        extra["start"] = space.start
    narrow = space.dtype is not None and space.dtype != np.int64
    if narrow and "dtype" in inspect.signature(cls).parameters:
        extra["dtype"] = space.dtype.type
    return cls(space.n, **extra)


def _multi_discrete(space: Any, _: Convert, cls: Any) -> Any:
    start = getattr(space, "start", None)
    extra = {} if start is None or not np.any(start) else {"start": start.copy()}
    return cls(space.nvec.copy(), dtype=space.dtype.type, **extra)


def _text(space: Any, _: Convert, cls: Any) -> Any:
    # Samples depend on the order of the characters, which a string keeps.
    charset = "".join(space.character_list)
    return cls(space.max_length, min_length=space.min_length, charset=charset)


def _dict(space: Any, convert: Convert, cls: Any) -> Any:
    built = cls([(key, convert(part)) for key, part in space.spaces.items()])
    if hasattr(space, "sort_keys"):
        built.sort_keys = space.sort_keys
    return built


def _parts(space: Any, convert: Convert, cls: Any) -> Any:
    return cls([convert(part) for part in space.spaces])


def _sequence(space: Any, convert: Convert, cls: Any) -> Any:
    return cls(convert(space.feature_space), stack=getattr(space, "stack", False))


def _graph(space: Any, convert: Convert, cls: Any) -> Any:
    edges = space.edge_space
    return cls(convert(space.node_space), None if edges is None else convert(edges))


_BUILDERS: dict[str, Callable[[Any, Convert, Any], Any]] = {
    "Box": _box,
    "Dict": _dict,
    "Discrete": _discrete,
    "Graph": _graph,
    "MultiBinary": lambda space, _, cls: cls(space.n),
    "MultiDiscrete": _multi_discrete,
    "OneOf": _parts,
    "Sequence": _sequence,
    "Text": _text,
    "Tuple": _parts,
}
