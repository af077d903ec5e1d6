from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from ludus.serve.client.json_space import JsonSpace
from ludus.spaces.errors import SpaceTypeError, SpaceValueError

OBJECT = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1, "maxLength": 5},
        "number": {"type": "number", "minimum": -1, "exclusiveMaximum": 1},
        "choice": {"enum": ["a", 1, None]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "list": {"type": "array", "items": {"$ref": "#/$defs/Item"}, "maxItems": 3},
        "pair": {"type": "array", "prefixItems": [{"const": 0}, {"type": "boolean"}]},
    },
    "required": ["text", "number", "choice", "list", "pair"],
    "additionalProperties": False,
    "$defs": {"Item": {"type": "integer", "minimum": 3, "maximum": 4}},
}
MEMBER: dict[str, Any] = {"text": "ab", "number": 0.5, "choice": 1, "list": [3], "pair": [0, True]}


@pytest.mark.parametrize(
    ("changed", "inside"),
    [
        ({}, True),
        ({"text": ""}, False),
        ({"text": "abcdef"}, False),
        ({"text": None}, False),
        ({"number": -1}, True),
        ({"number": 1}, False),
        ({"number": True}, False),
        ({"number": float("nan")}, False),
        ({"number": np.float32(0)}, False),
        ({"choice": None}, True),
        ({"choice": True}, False),
        ({"choice": "b"}, False),
        ({"maybe": 3}, True),
        ({"maybe": None}, True),
        ({"maybe": "3"}, False),
        ({"list": []}, True),
        ({"list": [5]}, False),
        ({"list": [3, 3, 3, 3]}, False),
        ({"list": (3,)}, False),
        ({"pair": [1, True]}, False),
        ({"pair": [0, 1]}, False),
        ({"other": 1}, False),
    ],
)
def test_members(changed: dict[str, Any], inside: bool) -> None:
    assert ({**MEMBER, **changed} in JsonSpace(OBJECT)) is inside


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_large_lists_of_numbers(kind: str) -> None:
    item = {"type": kind, "minimum": 0, "maximum": 255}
    row = {"type": "array", "items": {"type": "array", "items": item}}
    for schema in (row, {"type": "array", "items": {"anyOf": [row, {"enum": ["inf"]}]}}):
        space = JsonSpace(schema)
        picture: Any = [[1, 2, 3]] * 7_000
        picture = picture if schema is row else [picture]
        assert picture in space
        rows = picture if schema is row else picture[0]
        for wrong in (256, float("nan"), True):
            rows[-1] = [1, wrong, 3]
            assert picture not in space


def test_missing_entries_and_other_types() -> None:
    space = JsonSpace(OBJECT)
    for value in ({}, None, [], 1, object(), {1: 2}, {**MEMBER, 1: 2}):
        assert value not in space
        assert space.misfit(value)
    assert object() not in JsonSpace({})
    assert {"any": ["thing", 1, None]} in JsonSpace({})


@pytest.mark.parametrize(
    "schema",
    [
        OBJECT,
        {"type": "integer"},
        {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
        {"type": "number", "maximum": -10},
        {"type": ["string", "null"]},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
        {"oneOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"const": 3}}}]},
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "integer", "minimum": 10**30},
        {"type": "null"},
    ],
    ids=str,
)
def test_samples_are_members(schema: dict[str, Any]) -> None:
    space = JsonSpace(schema, seed=0)
    if schema.get("minimum") == 10**30:
        with pytest.raises(SpaceValueError, match="by hand"):
            space.sample()
        return
    drawn = [space.sample() for _ in range(30)]
    assert all(value in space for value in drawn)
    space.seed(0)
    again = [space.sample() for _ in range(30)]
    space.seed(0)
    assert again == [space.sample() for _ in range(30)]
    assert space.from_jsonable(space.to_jsonable(drawn)) == drawn


HOSTILE: list[Any] = [
    {"$ref": "#"},
    {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
    {"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}] * 10}}},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    {"type": "array", "items": {"$ref": "#"}, "minItems": 9},
    {"allOf": [{"$ref": "#"}] * 5},
    {"type": 3, "enum": "x", "required": "a", "properties": [], "anyOf": {}, "items": 5},
    {"type": "array", "minItems": 10**18},
    {"type": "string", "minLength": -(10**18), "maxLength": "x"},
    {"type": "integer", "minimum": float("inf")},
    {"$ref": "http://127.0.0.1/schema"},
    {"$ref": 5, "type": ["os.system", None, 3]},
]


@pytest.mark.parametrize("schema", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_schemas_neither_hang_nor_overflow(schema: Any) -> None:
    space = JsonSpace(schema, seed=0)
    for value in (None, 1, "x", [[[]]], {"a": {"a": {}}}):
        assert isinstance(space.contains(value), bool)
    with suppress(SpaceValueError):
        assert space.sample() in space
    assert len(repr(space)) < 300


def test_what_is_no_schema() -> None:
    with pytest.raises(SpaceTypeError):
        JsonSpace([])  # type: ignore[arg-type]
    nested: Any = {}
    for _ in range(100_000):
        nested = {"items": nested}
    with pytest.raises(SpaceValueError):
        JsonSpace(nested)
    with pytest.raises(SpaceValueError):
        JsonSpace({"a": object()})
    deep: Any = []
    for _ in range(1000):
        deep = [deep]
    assert deep not in JsonSpace({})
    with pytest.raises(SpaceValueError):
        JsonSpace({}).sample(mask=1)
    assert JsonSpace({"a": 1}) == JsonSpace({"a": 1}) != JsonSpace({})
