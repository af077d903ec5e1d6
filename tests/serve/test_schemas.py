from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from ludus.errors import InvalidAction
from ludus.serve import Served
from ludus.serve.limits import Rates
from ludus.serve.openenv.exchange import Wire
from ludus.serve.schemas import dumps, plain, reader, schema_of, writer
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
)

SPACES: tuple[Space[Any], ...] = (
    Discrete(3),
    Discrete(4, start=-2),
    Box(-1.0, 1.0, (3,), np.float32),
    Box(-np.inf, np.inf, (2, 2), np.float64),
    Box(0, 255, (2, 3, 3), np.uint8),
    Box(-(2**63), 2**63 - 1, (2,), np.int64),
    Box(0, 1, (), np.float32),
    Box(0, 1, (4,), np.bool_),
    MultiBinary((2, 3)),
    MultiDiscrete([3, 5, 2], start=[0, -1, 4]),
    MultiDiscrete([[2, 3], [4, 5]]),
    Text(8, min_length=0),
    Tuple((Discrete(2), Box(0.0, 1.0, (2,), np.float32))),
    Tuple(()),
    Dict({"a": Discrete(2), "b": Dict({"c": MultiBinary(2)})}),
    OneOf((Discrete(2), Box(0.0, 1.0, (2,), np.float32))),
    Sequence(Discrete(5)),
    Sequence(Dict({"x": Box(0.0, 1.0, (1,), np.float64)})),
)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_values_survive_json_and_fit_the_schema(space: Space[Any]) -> None:
    space.seed(1)
    write, read, schema = writer(space), reader(space), schema_of(space)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for _ in range(20):
        value = space.sample()
        data = json.loads(dumps(write(value)))
        validator.validate(data)
        found = read(data)
        assert found in space
        assert same(value, found)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_is_no_member_is_refused(space: Space[Any]) -> None:
    read = reader(space)
    wrong = [None, "x" * 50, {"z": 1}, [[[[[1]]]]], [1, [2]], [None], {"a": 0}, 10**400, 1e400]
    for data in (*wrong, [math.nan] * 2, [0] * 40, float("nan"), object()):
        try:
            found = read(data)
        except InvalidAction:
            continue
        assert found in space, data


def test_numbers_that_json_lacks_are_texts() -> None:
    space = Box(-np.inf, np.inf, (3,), np.float64)
    text = dumps(writer(space)(np.array([np.inf, -np.inf, 0.5])))
    assert text == '["inf","-inf",0.5]'
    assert reader(space)(json.loads(text)).tolist() == [math.inf, -math.inf, 0.5]
    with pytest.raises(InvalidAction):
        reader(space)(["infinite", 0.0, 0.0])


def test_anything_becomes_plain_data() -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    told = plain({1: np.int64(2), "b": b"\xff", "c": {3}, "d": (np.nan,), "e": deep, "f": None})
    json.dumps(told, allow_nan=False)
    assert told["1"] == 2
    assert told["d"] == ["nan"]


def test_schemas_of_what_is_served_are_schemas() -> None:
    for name in ("CartPole-v1", "Blackjack-v1", "Hopper-v5", "research/battleOfSexes"):
        for schema in Wire(Served.of(name)).schemas.values():
            Draft202012Validator.check_schema(schema)
    research = Wire(Served.of("research/battleOfSexes")).schemas["action"]
    validator = Draft202012Validator(research)
    assert validator.is_valid({"action": "ls"})
    assert validator.is_valid({"action": {"tool": "validate", "arguments": {}}})
    assert not validator.is_valid({"action": {"tool": "fly"}})
    assert not validator.is_valid({"action": 3})


def test_a_budget_of_requests_refills() -> None:
    now = 0.0
    rates = Rates(2.0, burst=3, clock=lambda: now)
    assert [rates.admits("a") for _ in range(5)] == [True, True, True, False, False]
    assert rates.admits("b")
    now = 0.5
    assert [rates.admits("a") for _ in range(2)] == [True, False]
    now = 100.0
    assert [rates.admits("a") for _ in range(4)] == [True, True, True, False]
    for number in range(20_000):
        rates.admits(str(number))
    assert len(rates._left) <= 10_000
    assert all(Rates(None).admits("a") for _ in range(100))
