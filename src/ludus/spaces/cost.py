"""Estimates the memory that building, sampling, flattening or batching a described space takes.

The cost is computed from the description, before any space is built: a few nested sequences or
graphs can describe samples, or even spaces, that fill all memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from operator import add
from typing import Any, NamedTuple

from ludus.spaces.errors import SpaceValueError
from ludus.spaces.space import is_integer

__all__ = ["SPACE_LIMITS", "SpaceCost", "SpaceLimits", "check_cost", "cost_of"]

_LENGTH = 24  # of a sequence: one sample in a thousand is longer
_NODES, _EDGES = 10, 90  # the most that Graph.sample() draws by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLimits:
    """Limits on the cost of a space from an untrusted source.

    The cost of a sample is that of a large one: sequences of 24 parts, graphs of 10 nodes and
    90 edges. Spaces of a batch are counted for all its environments.

    Args:
        parts: Spaces and values that a sample, a copy or a batch consists of.
        numbers: Entries of the arrays, and characters of the texts, of a sample.
        flat: Entries of a flattened member, of one environment; a ``Discrete`` has one for each of
            its values.
        characters: Characters of the keys and of the character sets.

    Raises:
        ValueError: A limit is not positive.
    """

    parts: int = 2**17
    numbers: int = 2**24
    flat: int = 2**24
    characters: int = 2**19

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if type(value) is not int or value < 1:
                raise ValueError(f"SpaceLimits.{item.name} is {value!r}; expected an int above 0.")


SPACE_LIMITS = SpaceLimits()
"""The default limits."""


class SpaceCost(NamedTuple):
    """Cost of a space; see :class:`SpaceLimits` for the fields."""

    parts: int = 0
    numbers: int = 0
    flat: int = 0
    characters: int = 0

    def __add__(self, other: SpaceCost) -> SpaceCost:  # type: ignore[override]
        return SpaceCost(*map(add, self, other))

    def __mul__(self, count: int) -> SpaceCost:  # type: ignore[override]
        return SpaceCost(*(number * count for number in self))


_WHAT = {
    "parts": "parts in one sample",
    "numbers": "numbers and characters in one sample",
    "flat": "entries when it is flattened",
    "characters": "characters in keys and character sets",
}


def check_cost(data: object, limits: SpaceLimits, *, copies: int = 1) -> None:
    """Raise if a described space costs too much.

    Args:
        data: The result of ``to_dict``, or anything; errors in it are reported by ``from_dict``.
        limits: The limits.
        copies: How many environments have such a space.

    Raises:
        SpaceValueError: It exceeds a limit, which the message names.
    """
    # Members of a batch are flattened one by one.
    cost = cost_of(data, copies=copies)._replace(flat=cost_of(data).flat)
    for name, what in _WHAT.items():
        found, most = getattr(cost, name), getattr(limits, name)
        if found > most:
            # The number can have thousands of digits.
            count = str(found) if found < 10**15 else "more than 10**15"
            batch = f" of {copies} environments" if copies > 1 else ""
            raise SpaceValueError(
                f"it describes up to {count} {what}{batch}, which is more than the "
                f"{most} that SpaceLimits.{name} allows"
            )


def cost_of(data: object, *, copies: int = 1) -> SpaceCost:
    """Return the cost of a described space for a number of environments."""
    if not isinstance(data, dict):
        return SpaceCost(1)
    kind = data.get("type")
    if kind in ("Dict", "Tuple"):
        # These are batched part by part; any other composite is copied whole.
        own = SpaceCost(1, characters=_key_characters(data.get("keys")))
        return sum(map(_costs(copies), _children(data)), own)
    if kind == "OneOf":
        return sum(map(_costs(1), _children(data)), SpaceCost(1, 1, 1)) * copies
    if kind == "Sequence":
        part = cost_of(data.get("space"))
        return (SpaceCost(1) + part * _LENGTH) * copies
    if kind == "Graph":
        links = SpaceCost(1, 2 * _EDGES, 2 * _EDGES)
        nodes = cost_of(data.get("node_space"), copies=_NODES)
        edges = cost_of(data.get("edge_space"), copies=_EDGES)
        return (links + nodes + edges) * copies
    if kind == "Text":
        length = _integer(data.get("max_length"))
        charset = data.get("charset")
        return (
            SpaceCost(1, length, length, len(charset) if isinstance(charset, str) else 0) * copies
        )
    return _array_cost(data, copies)


def _array_cost(data: dict[str, Any], copies: int) -> SpaceCost:
    count, size = data.get("n"), _size(data.get("shape"))
    if data.get("type") == "Discrete":
        return SpaceCost(1, copies, _integer(count) * copies)
    if data.get("type") == "MultiBinary":
        size = _size(count) if isinstance(count, list) else _integer(count)
    if data.get("type") == "MultiDiscrete":
        counts = data.get("nvec")
        values = sum(map(_integer, counts)) if isinstance(counts, list) else _integer(counts) * size
        return SpaceCost(1, size * copies, values * copies)
    return SpaceCost(1, size * copies, size * copies)


def _costs(copies: int) -> Any:
    return lambda part: cost_of(part, copies=copies)


def _children(data: dict[str, Any]) -> list[Any]:
    parts = data.get("spaces")
    return parts if isinstance(parts, list) else []


def _key_characters(keys: object) -> int:
    return sum(len(key) for key in keys if isinstance(key, str)) if isinstance(keys, list) else 0


def _integer(value: object) -> int:
    return max(int(value), 1) if is_integer(value) else 1


def _size(axes: object) -> int:
    # Axes of length 0 count as 1, because the other axes still take memory in layouts.
    return math.prod(map(_integer, axes[:64])) if isinstance(axes, list) else 1
