"""What a described space can cost whoever builds, samples, flattens or batches it.

The cost is computed from the description alone, before any space is built: a few nested sequences
or graphs describe samples that fill all memory, and some of them already do so when they are built.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from ludus.spaces.errors import SpaceValueError
from ludus.spaces.space import is_integer

__all__ = ["SPACE_LIMITS", "SpaceCost", "SpaceLimits", "check_cost", "cost_of"]

_LENGTH = 24  # of a sequence: one sample in a thousand is longer
_NODES, _EDGES = 10, 90  # the most that Graph.sample() draws by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLimits:
    """The most that a space from outside may cost.

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
"""What a space may cost unless told otherwise."""


@dataclass(frozen=True, slots=True)
class SpaceCost:
    """What a space costs; see :class:`SpaceLimits` for the fields."""

    parts: int = 0
    numbers: int = 0
    flat: int = 0
    characters: int = 0

    def __add__(self, other: SpaceCost) -> SpaceCost:
        return SpaceCost(
            self.parts + other.parts,
            self.numbers + other.numbers,
            self.flat + other.flat,
            self.characters + other.characters,
        )

    def __mul__(self, count: int) -> SpaceCost:
        return SpaceCost(
            self.parts * count, self.numbers * count, self.flat * count, self.characters * count
        )


_WHAT = {
    "parts": "parts in one sample",
    "numbers": "numbers and characters in one sample",
    "flat": "entries when it is flattened",
    "characters": "characters in keys and character sets",
}


def check_cost(data: object, limits: SpaceLimits, *, copies: int = 1) -> None:
    """Refuse the description of a space that costs too much.

    Args:
        data: What ``to_dict`` returns, or anything; mistakes in it are left to ``from_dict``.
        limits: The most that it may cost.
        copies: How many environments have such a space.

    Raises:
        SpaceValueError: It costs more; the message names the limit.
    """
    # Members are flattened one by one, also those of a batch.
    cost = replace(cost_of(data, copies=copies), flat=cost_of(data).flat)
    for name, what in _WHAT.items():
        found, most = getattr(cost, name), getattr(limits, name)
        if found > most:
            # A hostile product can have thousands of digits.
            count = str(found) if found < 10**15 else "more than 10**15"
            batch = f" of {copies} environments" if copies > 1 else ""
            raise SpaceValueError(
                f"it describes up to {count} {what}{batch}, which is more than the "
                f"{most} that SpaceLimits.{name} allows"
            )


def cost_of(data: object, *, copies: int = 1) -> SpaceCost:
    """Return what a described space costs for a number of environments."""
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
    # An axis of length 0 does not hide the others: layouts and copies still see them.
    return math.prod(map(_integer, axes[:64])) if isinstance(axes, list) else 1
