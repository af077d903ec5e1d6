"""Spaces as JSON Schemas, and their values as JSON.

Numbers that JSON does not have are the strings ``"inf"``, ``"-inf"`` and ``"nan"``. Arrays are
nested lists. A value of ``OneOf`` is the list of its index and the value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ludus.errors import InvalidAction
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

__all__ = ["dumps", "plain", "reader", "schema_of", "writer"]

_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_MOST_ITEMS = 64
_DEEPEST = 64


def dumps(value: Any) -> str:
    """Return plain data as JSON, with the strings for numbers that JSON does not have."""
    try:
        return _encode(value)
    except (TypeError, ValueError):
        return _encode(plain(value))


def plain(value: Any, depth: int = 0) -> Any:
    """Return any value as data for JSON; what has no such form becomes its ``str``."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), depth)
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {str(key): plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part, depth + 1) for part in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)[:1000]


# --- values to JSON -------------------------------------------------------------------------------


def writer(space: Space[Any]) -> Callable[[Any], Any]:
    """Return the function that turns members of a space into data for :func:`dumps`."""
    if isinstance(space, Discrete):
        return int
    if isinstance(space, Box | MultiBinary | MultiDiscrete):
        return _listed
    if isinstance(space, Text):
        return str
    if isinstance(space, Dict):
        parts = {key: writer(part) for key, part in space.spaces.items()}
        return lambda value: {str(key): write(value[key]) for key, write in parts.items()}
    if isinstance(space, Tuple):
        each = [writer(part) for part in space.spaces]
        return lambda value: [write(part) for write, part in zip(each, value, strict=True)]
    if isinstance(space, OneOf):
        options = [writer(part) for part in space.spaces]
        return lambda value: [int(value[0]), options[int(value[0])](value[1])]
    if isinstance(space, Sequence) and not space.stack:
        item = writer(space.feature_space)
        return lambda value: [item(part) for part in value]
    return lambda value: space.to_jsonable([value])


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else np.asarray(value).tolist()


# --- JSON to values -------------------------------------------------------------------------------


def reader(space: Space[Any]) -> Callable[[Any], Any]:
    """Return the function that turns JSON data into members of a space.

    The function raises :class:`InvalidAction` for data that describes no member.
    """
    if type(space) is Discrete:
        first, last = int(space.start), int(space.start) + int(space.n)

        def read(data: Any) -> Any:
            if type(data) is int and first <= data < last:
                return data
            if type(data) is float and data.is_integer() and first <= data < last:
                return int(data)
            raise _refusal(space, data)

        return read
    convert = _converter(space)

    def read_any(data: Any) -> Any:
        try:
            value = convert(data)
            if space.contains(value):
                return value
        except (TypeError, ValueError, LookupError, OverflowError, RecursionError, AttributeError):
            pass
        raise _refusal(space, data)

    return read_any


def _refusal(space: Space[Any], data: Any) -> InvalidAction:
    return InvalidAction(f"{data!r:.100} is no action; expected is a member of {space!s:.200}.")


def _converter(space: Space[Any]) -> Callable[[Any], Any]:
    if isinstance(space, Discrete):
        return _whole
    if isinstance(space, Box | MultiBinary | MultiDiscrete):
        dtype, shape = np.dtype(space.dtype), space.shape or ()
        return lambda data: _array(data, dtype, shape)
    if isinstance(space, Text):
        return _text
    if isinstance(space, Dict):
        parts = {key: _converter(part) for key, part in space.spaces.items()}
        return lambda data: _fields(data, parts)
    if isinstance(space, Tuple):
        each = [_converter(part) for part in space.spaces]
        return lambda data: tuple(read(part) for read, part in zip(each, _list(data), strict=True))
    if isinstance(space, OneOf):
        options = [_converter(part) for part in space.spaces]
        return lambda data: (np.int64(_whole(data[0])), options[_index(data)](data[1]))
    if isinstance(space, Sequence) and not space.stack:
        item = _converter(space.feature_space)
        return lambda data: tuple(item(part) for part in _list(data))
    if isinstance(space, Sequence | Graph):
        return lambda data: space.from_jsonable(data)[0]
    # A space of its own kind, such as that of research actions, checks the data as it is.
    return lambda data: data


def _whole(data: Any) -> int:
    # In JSON, and in its schemas, 1.0 is an integer.
    if type(data) is float and data.is_integer():
        return int(data)
    if type(data) is not int:
        raise TypeError
    return data


def _index(data: Any) -> int:
    if len(_list(data)) != 2 or _whole(data[0]) < 0:
        raise ValueError
    return int(data[0])


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise TypeError
    return data


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise TypeError
    return data


def _fields(data: Any, parts: Mapping[Any, Callable[[Any], Any]]) -> dict[Any, Any]:
    if not isinstance(data, dict) or len(data) != len(parts):
        raise TypeError
    return {key: read(data[str(key)]) for key, read in parts.items()}


def _array(data: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    array = np.array(data)
    if array.dtype.kind in "USO":
        array = np.array(_numbers(data))
    if array.shape != shape:
        raise ValueError
    if dtype.kind == "f":
        if array.dtype.kind not in "fiu":
            raise TypeError
        return array.astype(dtype)
    if array.size and array.dtype.kind not in ("b" if dtype.kind == "b" else "iubf"):
        raise TypeError
    if array.dtype.kind == "f" and not np.array_equal(array, np.floor(array)):
        raise TypeError
    made = array.astype(dtype)
    if not np.array_equal(made, array):
        raise OverflowError
    return made


def _numbers(data: Any) -> Any:
    """Return nested lists with the strings for special numbers replaced."""
    if isinstance(data, list):
        return [_numbers(part) for part in data]
    return _SPECIAL[data] if isinstance(data, str) else data


# --- schemas --------------------------------------------------------------------------------------


def schema_of(space: Space[Any]) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of what :func:`writer` writes for a space."""
    for kind, make in _SCHEMAS:
        if isinstance(space, kind):
            return make(space)
    made = getattr(space, "json_schema", None)
    return made() if callable(made) else {"description": str(space)[:500]}


def _discrete(space: Discrete) -> dict[str, Any]:
    first = int(space.start)
    return {"type": "integer", "minimum": first, "maximum": first + int(space.n) - 1}


def _arrays(shape: tuple[int, ...], item: dict[str, Any]) -> dict[str, Any]:
    for length in reversed(shape):
        item = {"type": "array", "items": item, "minItems": length, "maxItems": length}
    return item


def _box(space: Box) -> dict[str, Any]:
    if space.dtype.kind == "f":
        item: dict[str, Any] = {"type": "number", **_bounds(space)}
        if not space.is_bounded():
            item = {"anyOf": [item, {"enum": list(_SPECIAL)}]}
    elif space.dtype.kind == "b":
        item = {"type": "boolean"}
    else:
        item = {"type": "integer", **_bounds(space)}
    return _arrays(space.shape, item)


def _bounds(space: Box) -> dict[str, Any]:
    """Return the widest bounds of all entries, as far as they are finite."""
    found = {}
    if space.low.size:
        for name, value in (("minimum", space.low.min()), ("maximum", space.high.max())):
            if np.isfinite(value):
                found[name] = value.item()
    return found


def _multi_binary(space: MultiBinary) -> dict[str, Any]:
    return _arrays(space.shape, {"type": "integer", "minimum": 0, "maximum": 1})


def _multi_discrete(space: MultiDiscrete) -> dict[str, Any]:
    first, counts = np.asarray(space.start).ravel(), np.asarray(space.nvec).ravel()
    if len(space.shape) == 1 and len(counts) <= _MOST_ITEMS:
        items = [
            {"type": "integer", "minimum": int(low), "maximum": int(low + count - 1)}
            for low, count in zip(first, counts, strict=True)
        ]
        return _listing(items)
    low, high = int(first.min()), int((first + counts).max()) - 1
    return _arrays(space.shape, {"type": "integer", "minimum": low, "maximum": high})


def _listing(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of a list with one schema for each place."""
    bounds = {"minItems": len(items), "maxItems": len(items)}
    return (
        {"type": "array", "prefixItems": items, **bounds} if items else {"type": "array", **bounds}
    )


def _text_schema(space: Text) -> dict[str, Any]:
    return {"type": "string", "minLength": space.min_length, "maxLength": space.max_length}


def _dict(space: Dict) -> dict[str, Any]:
    parts = {str(key): schema_of(part) for key, part in space.spaces.items()}
    return {
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
    }


def _tuple(space: Tuple) -> dict[str, Any]:
    return _listing([schema_of(part) for part in space.spaces])


def _one_of(space: OneOf) -> dict[str, Any]:
    return {
        "oneOf": [
            _listing([{"const": index}, schema_of(part)]) for index, part in enumerate(space.spaces)
        ]
    }


def _sequence(space: Sequence) -> dict[str, Any]:
    if space.stack:
        return {"description": str(space)[:500]}
    return {"type": "array", "items": schema_of(space.feature_space)}


_SCHEMAS: tuple[tuple[type[Space[Any]], Callable[[Any], dict[str, Any]]], ...] = (
    (Discrete, _discrete),
    (Box, _box),
    (MultiBinary, _multi_binary),
    (MultiDiscrete, _multi_discrete),
    (Text, _text_schema),
    (Dict, _dict),
    (Tuple, _tuple),
    (OneOf, _one_of),
    (Sequence, _sequence),
)
