from __future__ import annotations

import json
import math
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ludus.spaces.plain_data as limits
from ludus.errors import CustomSpaceError, Error
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    SpaceTypeError,
    SpaceValueError,
    Text,
    Tuple,
    from_dict,
    from_json,
    to_dict,
    to_json,
)
from tests.spaces.custom import Angle

INF = math.inf
BOX = {"type": "Box", "low": 0, "high": 1, "shape": [2], "dtype": "float32"}

SPACES = [
    Box(0, 1, (2, 3)),
    Box(-INF, INF, (2,), "f8"),
    Box(np.array([-INF, 0.1]), np.array([0.3, INF]), dtype="f8"),
    Box(np.array([-0.0, 0.0]), 1, dtype="f8"),
    Box(np.array([1e-45, 3.4e38], "f"), INF),
    Box(np.array([5e-324, 1 / 3]), 1.7e308, dtype="f8"),
    Box(0, np.array([6e-8, 1], "f2"), dtype="f2"),
    Box(-INF, np.array([3, INF]), (2,), "i4"),
    Box(-INF, INF, (1,), "i8"),
    Box(np.iinfo("i8").min, np.iinfo("i8").max, (2,), "i8"),
    Box(2**53 + 1, 2**64 - 1, (), "u8"),
    Box(0, 255, (4, 4, 3), "u1"),
    Box(0, 1, (2,), bool),
    Box(0, 1, (0, 3)),
    Box(INF, INF),
    Discrete(3),
    Discrete(3, start=-7, dtype="i2"),
    Discrete(2**63 - 1),
    MultiBinary(3),
    MultiBinary((3,)),
    MultiBinary([2, 3]),
    MultiDiscrete([[2, 3], [4, 5]], start=[[0, -1], [2, 3]], dtype="i1"),
    MultiDiscrete([3, 3, 3]),
    Text(3),
    Text(9, min_length=0, charset="zaä€\0\"\\\ud800"),
    Text(0, min_length=0, charset=""),
    Tuple([]),
    Tuple([Discrete(2), Tuple([Box(0, 1)])]),
    Dict(b=Discrete(2), a=Dict(c=Text(2))),
    Dict({"b": Discrete(2), "a": Discrete(3)}, sort_keys=False),
    Dict(OrderedDict(z=Discrete(2), a=Discrete(3))),
    Dict({1: Discrete(2), "1": Discrete(3)}),
    Sequence(Discrete(3)),
    Sequence(Box(0, 1, (2,)), stack=True),
    Graph(Box(0, 1), None),
    Graph(Box(0, 1), Discrete(3)),
    OneOf([Discrete(2), Text(3)]),
]  # fmt: skip


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_round_trip(space):
    text = to_json(space)
    json.loads(text, parse_constant=pytest.fail)
    restored = from_json(text)
    assert restored == space
    assert to_json(restored) == text
    assert from_json(text.encode()) == space
    assert repr(restored) == repr(space)
    assert type(restored) is type(space)
    assert from_dict(to_dict(space)) == space
    assert to_dict(space) == json.loads(text)


@pytest.mark.parametrize("space", [s for s in SPACES if isinstance(s, Box)], ids=str)
def test_bounds_survive_to_the_bit(space):
    restored = from_json(to_json(space))
    assert restored.low.tobytes() == space.low.tobytes()
    assert restored.high.tobytes() == space.high.tobytes()
    np.testing.assert_array_equal(restored.bounded_below, space.bounded_below)
    np.testing.assert_array_equal(restored.bounded_above, space.bounded_above)
    if np.isfinite(space.low).all() or not space.is_bounded("below"):
        assert restored.seed(3) == space.seed(3)
        np.testing.assert_array_equal(restored.sample(), space.sample())


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1), st.sampled_from(["f4", "f8"]))
def test_any_float_survives(values, dtype):
    low = np.array(values, dtype)
    box = Box(low, INF, dtype=dtype)
    assert from_json(to_json(box)).low.tobytes() == low.tobytes()


def test_order_of_keys_survives():
    space = Dict(OrderedDict(z=Discrete(2), a=Discrete(3)))
    assert list(from_json(to_json(space))) == ["z", "a"]


def test_uniform_bounds_are_short():
    assert len(to_json(Box(0, 255, (210, 160, 3), "u1"))) < 100


def test_format_is_pinned():
    assert to_dict(Box(-INF, 1, (2,))) == {
        "type": "Box", "low": "-inf", "high": 1.0, "shape": [2], "dtype": "float32"
    }  # fmt: skip
    assert to_dict(Dict(a=Discrete(2))) == {
        "type": "Dict",
        "keys": ["a"],
        "spaces": [{"type": "Discrete", "n": 2, "start": 0, "dtype": "int64"}],
        "sort_keys": True,
    }


class Renamed(Discrete):
    pass


@pytest.mark.parametrize(
    ("space", "error", "words"),
    [
        (Angle(), CustomSpaceError, "Angle"),
        (Renamed(3), CustomSpaceError, "Renamed"),
        (Tuple([Angle()]), CustomSpaceError, "Angle"),
        (Box(0, 1, dtype=np.longdouble), SpaceValueError, "portable"),
        (Box(0, 1, dtype=">f4"), SpaceValueError, "byte order"),
        (Dict({(1, 2): Discrete(2)}), SpaceValueError, r"\(1, 2\)"),
        ("space", SpaceTypeError, "str"),
    ],
    ids=str,
)
def test_what_has_no_form(space, error, words):
    with pytest.raises(error, match=words):
        to_json(space)


DISCRETE = {"type": "Discrete", "n": 2, "start": 0, "dtype": "int64"}
MULTI = {"type": "MultiDiscrete", "nvec": 2, "start": 0, "shape": [1], "dtype": "int64"}
DICT = {"type": "Dict", "keys": ["a"], "spaces": [DISCRETE], "sort_keys": True}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "space: expected an object"),
        ([], "expected an object"),
        ({}, "'type' is missing"),
        ({"type": "Exec"}, "'type' should be one of Box, .* got 'Exec'"),
        ({"type": ["Box"]}, "'type'"),
        ({"type": "__class__"}, "'type'"),
        ({**BOX, "extra": 1}, "unknown fields.*extra"),
        ({key: BOX[key] for key in ("type", "low", "high", "shape")}, "'dtype' is missing"),
        ({**BOX, "dtype": "object"}, "'dtype' should be one of"),
        ({**BOX, "dtype": "O"}, "'dtype'"),
        ({**BOX, "dtype": "float32,object"}, "'dtype'"),
        ({**BOX, "shape": 2}, "'shape'"),
        ({**BOX, "shape": [-1]}, "'shape'"),
        ({**BOX, "shape": [2.0]}, "'shape'"),
        ({**BOX, "shape": [True]}, "'shape'"),
        ({**BOX, "shape": [1] * 40}, "32 axes"),
        ({**BOX, "shape": [10**6, 10**6]}, "more than"),
        ({**BOX, "shape": [0, 10**30]}, "more than"),
        ({**BOX, "low": [0]}, "'low'.*list of 2"),
        ({**BOX, "low": [0, 0, 0]}, "'low'"),
        ({**BOX, "low": [[0, 0]]}, "no value of dtype float32"),
        ({**BOX, "low": None}, "'low'"),
        ({**BOX, "low": True}, "'low'"),
        ({**BOX, "low": math.nan}, "'low'"),
        ({**BOX, "low": -math.inf}, "'low'"),
        ({**BOX, "low": "nan"}, "'low'"),
        ({**BOX, "low": "__import__('os')"}, "'low'"),
        ({**BOX, "high": 1e300}, "'high'"),
        ({**BOX, "high": 10**400}, "'high'"),
        ({**BOX, "low": 5}, "space: .*above high"),
        ({**BOX, "dtype": "uint8", "high": 256}, "'high'"),
        ({**BOX, "dtype": "uint8", "high": "inf"}, "'high'"),
        ({**BOX, "dtype": "int8", "low": "inf"}, "'low'"),
        ({**BOX, "dtype": "int8", "high": 1.0}, "'high'"),
        ({**BOX, "dtype": "bool", "high": 2}, "'high'"),
        ({**DISCRETE, "n": 0}, "positive"),
        ({**DISCRETE, "n": 1.5}, "'n'"),
        ({**DISCRETE, "n": "2"}, "'n'"),
        ({**DISCRETE, "n": 2**80}, "out of bounds"),
        ({**DISCRETE, "dtype": "float32"}, "dtype"),
        ({"type": "MultiBinary", "n": "a"}, "'n'"),
        ({"type": "MultiBinary", "n": [10**9]}, "more than"),
        ({"type": "MultiBinary", "n": 10**30}, "more than"),
        ({"type": "MultiBinary", "n": 0}, "positive"),
        ({**MULTI, "nvec": "inf"}, "nvec"),
        ({**MULTI, "nvec": 0}, "positive"),
        ({"type": "Text", "max_length": 1, "min_length": 2, "charset": "a"}, "min_length"),
        ({"type": "Text", "max_length": 1, "min_length": 1, "charset": ["a"]}, "'charset'"),
        ({"type": "Tuple", "spaces": {}}, "'spaces'"),
        ({"type": "Tuple", "spaces": [DISCRETE, 3]}, r"space\.spaces\[1\]: expected an object"),
        ({"type": "Tuple", "spaces": [{**DISCRETE, "n": 0}]}, r"space\.spaces\[0\]: .*positive"),
        ({"type": "OneOf", "spaces": []}, "empty"),
        ({**DICT, "spaces": []}, "1 keys, but 0 spaces"),
        ({**DICT, "keys": "a"}, "'keys'"),
        ({**DICT, "keys": [None]}, "'keys'"),
        ({**DICT, "keys": ["a", "a"]}, "twice"),
        ({**DICT, "sort_keys": 1}, "'sort_keys'"),
        ({"type": "Sequence", "space": None, "stack": False}, r"space\.space: expected"),
        ({"type": "Sequence", "space": DISCRETE, "stack": None}, "'stack'"),
        ({"type": "Graph", "node_space": None, "edge_space": None}, r"space\.node_space"),
    ],
    ids=str,
)  # fmt: skip
def test_garbled_data(data, words):
    with pytest.raises(SpaceValueError, match=f"Cannot read .*{words}") as caught:
        from_dict(data)
    assert isinstance(caught.value, Error)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "Box(0, 1)",
        "[" * 100_000,
        '{"type": "Box", "type": "Box"}',
        '{"type": NaN}',
        '{"type": "Discrete", "n": ' + "9" * 5000 + ', "start": 0, "dtype": "int64"}',
        b"\xff\xfe\x00",
        b"\x80\x04\x95",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_garbled_text(text):
    with pytest.raises(SpaceValueError, match="Not the JSON text of a space"):
        from_json(text)


@pytest.mark.parametrize("text", [None, 3, {}])
def test_what_is_no_text(text):
    with pytest.raises(SpaceTypeError, match="text"):
        from_json(text)


def test_depth_is_limited():
    space = Discrete(2)
    for _ in range(limits.MAX_DEPTH - 1):
        space = Tuple([space])
    assert from_json(to_json(space)) == space
    with pytest.raises(SpaceValueError, match="nested more than"):
        from_json(to_json(Tuple([space])))


def test_limit_of_elements_counts_all_spaces(monkeypatch):
    space = Tuple([Box(0, 1, (40,)), Box(0, 1, (40,))])
    monkeypatch.setattr(limits, "MAX_ELEMENTS", 79)
    with pytest.raises(SpaceValueError, match="more than 79"):
        from_json(to_json(space))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["Box", "Tuple", "Discrete", "int64", "inf"]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "spaces", "n", "low", "high", "shape", "dtype", "start", "keys"]),
        children, max_size=6),
    max_leaves=15,
))  # fmt: skip
def test_noise_never_gets_through_by_surprise(data):
    try:
        space = from_dict(data)
    except SpaceValueError:
        return
    assert from_dict(to_dict(space)) == space
