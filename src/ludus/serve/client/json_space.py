"""JSON values as a space, described by a JSON Schema that a server sent.

The schema is as little trusted as the values. What is understood are the keywords that pydantic
writes for models; others are ignored. References are followed only within the schema, and depth and
number of steps are limited, so that a schema that contains itself can neither hang nor overflow.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ludus.spaces import Space
from ludus.spaces.errors import SpaceTypeError, SpaceValueError

__all__ = ["JsonSpace"]

_DEEPEST = 64
_MOST_CHECKS = 50_000
_NOT_PLAIN = frozenset({"allOf", "anyOf", "const", "enum", "oneOf"})
_SHOWN = 200
_LETTERS = "abcdefghijklmnopqrstuvwxyz "
_LONGEST_SAMPLE = 12
_WIDEST = 2**53 - 1

_JSON = frozenset({type(None), bool, int, float, str, list, dict})
_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: type(value) is bool,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) is int or (type(value) is float and math.isfinite(value)),
    "string": lambda value: type(value) is str,
    "array": lambda value: type(value) is list,
    "object": lambda value: type(value) is dict,
}


class JsonSpace(Space[Any]):
    """Values of JSON (``None``, bools, ints, floats, texts, lists, dicts) that fit a JSON Schema.

    Args:
        schema: The JSON Schema, as decoded JSON.
        seed: Seed, or a generator to draw the samples from.

    Raises:
        SpaceTypeError: The schema is no dict.
        SpaceValueError: The schema is nested too deep.

    Example:
        >>> space = JsonSpace({"type": "object", "properties": {"move": {"enum": ["up", "down"]}},
        ...                    "required": ["move"]})
        >>> {"move": "up"} in space, {"move": "left"} in space
        (True, False)
    """

    def __init__(
        self, schema: Mapping[str, Any], seed: int | np.random.Generator | None = None
    ) -> None:
        if not isinstance(schema, dict):
            raise SpaceTypeError(f"A JSON Schema is a dict, got {type(schema).__name__}.")
        try:
            # A copy, of which it is known that it is JSON.
            self.schema: dict[str, Any] = json.loads(json.dumps(schema))
        except (TypeError, ValueError, RecursionError) as problem:
            raise SpaceValueError(f"The JSON Schema is no JSON: {problem!s:.200}") from None
        super().__init__(None, None, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Never: JSON values are no arrays."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> Any:
        """Draw a value: of an object all that is required, of anything else something short.

        Raises:
            SpaceValueError: A mask or probabilities are given, or nothing that was drawn fits,
                because the schema uses a keyword that is not understood.
        """
        if mask is not None or probability is not None:
            raise SpaceValueError("JSON values take neither `mask` nor `probability`.")
        for _ in range(10):
            value = _Drawer(self.schema, self.np_random).draw(self.schema, 0)
            if self.contains(value):
                return value
        raise SpaceValueError(f"No sample of {self} was found; choose a value by hand.")

    def contains(self, x: Any) -> bool:
        """Whether a value is JSON and fits the schema, as far as it is understood."""
        return self.misfit(x) is None

    def misfit(self, value: Any) -> str | None:
        """Return where a value does not fit the schema, and why; ``None`` if it fits."""
        return _Matcher(self.schema).misfit(self.schema, value, "value", 0)

    def to_jsonable(self, sample_n: Any) -> list[Any]:
        """Return the values."""
        return list(sample_n)

    def from_jsonable(self, sample_n: Any) -> list[Any]:
        """Return the values."""
        return list(sample_n)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonSpace) and other.schema == self.schema

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        text = json.dumps(self.schema)
        return f"JsonSpace({text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''})"


def _resolved(root: dict[str, Any], schema: Any) -> dict[str, Any]:
    """Follow references within the schema; what leads nowhere allows everything."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        found: Any = root
        for word in reference.removeprefix("#").split("/")[1:]:
            found = found.get(word) if isinstance(found, dict) else None
        schema = found
    return {}


class _Matcher:
    """Compares one value with a schema."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root, self._left = root, _MOST_CHECKS

    def misfit(self, schema: Any, value: Any, path: str, depth: int) -> str | None:
        """Return where a value does not fit; ``None`` if it fits."""
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            return f"{path} is nested too deep or too large"
        known = _resolved(self._root, schema)
        if type(value) not in _JSON or (type(value) is float and not math.isfinite(value)):
            return f"{path} is {value!r:.60} ({type(value).__name__}), which is no JSON"
        for choose in ("anyOf", "oneOf"):
            options = known.get(choose)
            if isinstance(options, list) and options:
                found = [self.misfit(option, value, path, depth + 1) for option in options]
                if None not in found:
                    return found[0]
        for part in _list(known.get("allOf")):
            if (why := self.misfit(part, value, path, depth + 1)) is not None:
                return why
        return self._own(known, value, path) or self._parts(known, value, path, depth)

    def _own(self, schema: dict[str, Any], value: Any, path: str) -> str | None:
        wanted = schema.get("type")
        names = wanted if isinstance(wanted, list) else [wanted]
        kinds = [_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES]
        if kinds and not any(kind(value) for kind in kinds):
            return f"{path} is {value!r:.60}, expected {wanted}"
        if "const" in schema and not _same(schema["const"], value):
            return f"{path} is {value!r:.60}, expected {schema['const']!r:.60}"
        options = schema.get("enum")
        if isinstance(options, list) and not any(_same(option, value) for option in options):
            return f"{path} is {value!r:.60}, expected one of {options!r:.200}"
        if type(value) in (int, float):
            return _outside(schema, value, path, _RANGES)
        if type(value) in (str, list):
            return _outside(schema, len(value), f"the length of {path}", _SIZES[type(value)])
        return None

    def _parts(self, schema: dict[str, Any], value: Any, path: str, depth: int) -> str | None:
        if type(value) is list:
            first = _list(schema.get("prefixItems"))
            rest = schema.get("items")
            if not first and self._are_numbers(rest, value):
                return None
            for index, item in enumerate(value):
                part = first[index] if index < len(first) else rest
                why = self.misfit(part, item, f"{path}[{index}]", depth + 1)
                if why is not None:
                    return why
        if type(value) is dict:
            return self._entries(schema, value, path, depth)
        return None

    def _are_numbers(self, schema: Any, values: list[Any]) -> bool:
        """Whether all are numbers that fit a plain schema, at the speed of built-in functions."""
        known = _resolved(self._root, schema)
        kinds = set(map(type, values))
        if not values or not kinds <= {int, float}:
            return False
        # Numbers may be unbounded, with texts for those that JSON does not have.
        options = _list(known.get("anyOf"))
        if options:
            known = _resolved(self._root, options[0])
        if known.keys() & _NOT_PLAIN or known.get("type") not in ("integer", "number"):
            return False
        if known["type"] == "integer" and float in kinds:
            return False
        low, high, total = min(values), max(values), sum(values)
        # The sum of nan and anything is nan, which equals nothing.
        if total != total or not (math.isfinite(low) and math.isfinite(high)):
            return False
        return not any(_outside(known, number, "", _RANGES) for number in (low, high))

    def _entries(
        self, schema: dict[str, Any], value: dict[Any, Any], path: str, depth: int
    ) -> str | None:
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        missing = [key for key in _list(schema.get("required")) if key not in value]
        if missing:
            return f"{path} lacks {missing!r:.200}"
        others = schema.get("additionalProperties")
        for key, item in value.items():
            if type(key) is not str:
                return f"{path} has a key that is no text"
            if key not in known and others is False:
                return f"{path} has the unknown key {key!r:.60}"
            why = self.misfit(known.get(key, others), item, f"{path}[{key!r:.60}]", depth + 1)
            if why is not None:
                return why
        return None


_RANGES: dict[str, Callable[[float, float], bool]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
}
_SIZES: dict[type, dict[str, Callable[[float, float], bool]]] = {
    str: {"minLength": _RANGES["minimum"], "maxLength": _RANGES["maximum"]},
    list: {"minItems": _RANGES["minimum"], "maxItems": _RANGES["maximum"]},
}


def _outside(
    schema: dict[str, Any],
    number: float,
    what: str,
    rules: dict[str, Callable[[float, float], bool]],
) -> str | None:
    for keyword, holds in rules.items():
        bound = schema.get(keyword)
        if isinstance(bound, int | float) and not holds(number, bound):
            return f"{what} is {number!r:.60}, but {keyword} is {bound!r:.60}"
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; true is not 1."""
    return type(one) is type(other) and bool(one == other)


class _Drawer:
    """Draws values for a schema."""

    def __init__(self, root: dict[str, Any], rng: np.random.Generator) -> None:
        self._root, self._rng = root, rng
        self._left = _MOST_CHECKS

    def draw(self, schema: Any, depth: int) -> Any:
        """Return a value that fits, if the schema's keywords are understood."""
        self._left -= 1
        known = _resolved(self._root, schema)
        if depth > _DEEPEST or self._left < 0:
            return None
        if "const" in known:
            return known["const"]
        for keyword in ("enum", "anyOf", "oneOf"):
            options = _list(known.get(keyword))
            if options:
                chosen = options[int(self._rng.integers(len(options)))]
                return chosen if keyword == "enum" else self.draw(chosen, depth + 1)
        kind = known.get("type")
        if isinstance(kind, list):
            kind = kind[0] if kind else None
        if kind is None and "properties" in known:
            kind = "object"
        make = _DRAWERS.get(kind) if isinstance(kind, str) else None
        return make(self, known, depth) if make else None

    def null(self, schema: dict[str, Any], depth: int) -> None:
        """Draw nothing."""

    def boolean(self, schema: dict[str, Any], depth: int) -> bool:
        """Draw one of two."""
        return bool(self._rng.integers(2))

    def integer(self, schema: dict[str, Any], depth: int) -> int:
        """Draw an int within the bounds; without any from 0 to 9."""
        low, high = self._range(schema, 1)
        return int(self._rng.integers(math.ceil(low), math.floor(high), endpoint=True))

    def number(self, schema: dict[str, Any], depth: int) -> float:
        """Draw a float within the bounds; without any from 0 to 9."""
        low, high = self._range(schema, 0)
        return float(self._rng.uniform(low, high))

    def _range(self, schema: dict[str, Any], step: int) -> tuple[float, float]:
        low, high = _bound(schema, "minimum", step), _bound(schema, "maximum", -step)
        if low is None:
            low = 0.0 if high is None or high >= 0 else high - 9
        high = low + 9 if high is None else high
        low, high = max(-_WIDEST, min(low, _WIDEST)), max(-_WIDEST, min(high, _WIDEST))
        return low, max(low, high)

    def text(self, schema: dict[str, Any], depth: int) -> str:
        """Draw a short text."""
        count = self._length(schema, "minLength", "maxLength")
        return "".join(_LETTERS[at] for at in self._rng.integers(len(_LETTERS), size=count))

    def array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        """Draw a short list."""
        first = _list(schema.get("prefixItems"))
        count = max(len(first), self._length(schema, "minItems", "maxItems"))
        parts = [*first, *[schema.get("items")] * (count - len(first))]
        return [self.draw(part, depth + 1) for part in parts[:count]]

    def _length(self, schema: dict[str, Any], least: str, most: str) -> int:
        given, limit = schema.get(least), schema.get(most)
        low = given if type(given) is int and 0 <= given <= _MOST_CHECKS else 0
        high = limit if type(limit) is int and limit >= low else low + _LONGEST_SAMPLE
        return int(self._rng.integers(low, min(high, low + _LONGEST_SAMPLE), endpoint=True))

    def entries(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """Draw the required entries, and others without a default with probability one half."""
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        required = _list(schema.get("required"))
        made = {}
        for key, part in known.items():
            has_default = isinstance(part, dict) and "default" in part
            if key in required or not (has_default or self._rng.random() < 0.5):
                made[key] = self.draw(part, depth + 1)
        return made


def _bound(schema: dict[str, Any], keyword: str, step: int) -> float | None:
    """Return the bound with and without its end."""
    found, added = schema.get(keyword), 0
    if type(found) not in (int, float):
        found, added = schema.get(f"exclusive{keyword.capitalize()}"), step
    if not isinstance(found, int | float) or type(found) is bool or not math.isfinite(found):
        return None
    return float(max(-_WIDEST, min(found + added, _WIDEST)))


_DRAWERS: dict[str, Callable[[_Drawer, dict[str, Any], int], Any]] = {
    "null": _Drawer.null,
    "boolean": _Drawer.boolean,
    "integer": _Drawer.integer,
    "number": _Drawer.number,
    "string": _Drawer.text,
    "array": _Drawer.array,
    "object": _Drawer.entries,
}
