from __future__ import annotations

import enum
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.errors import CodecError
from ludus.record.format.canonical import MAX_DEPTH, dumps, loads

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(TEXTS, inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers(-5, 5), inner)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_data_comes_back(value):
    text = dumps(value)
    back = loads(text)
    assert repr(back) == repr(value) or dumps(back) == text
    json.loads(text)


@given(st.dictionaries(TEXTS, st.integers(), min_size=2))
def test_the_order_of_entries_does_not_matter(entries):
    turned = dict(reversed(entries.items()))
    assert dumps(entries) == dumps(turned)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
        ("grün", '"grün"'.encode()),
        (math.nan, b'{"$float":"nan"}'),
        ([math.inf, -math.inf], b'[{"$float":"inf"},{"$float":"-inf"}]'),
        (0.1, b"0.1"),
        (-0.0, b"-0.0"),
        (np.float64(0.5), b"0.5"),
        (enum.IntEnum("Colour", "RED").RED, b"1"),
    ],
)
def test_what_it_looks_like(value, text):
    assert dumps(value) == text


def test_arrays_and_tuples_come_back_as_they_were():
    value = loads(dumps({"a": np.arange(6, dtype=np.int16).reshape(2, 3), "t": (1, (2.0,))}))
    assert value["a"].dtype == np.int16
    assert value["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert value["t"] == (1, (2.0,))


@pytest.mark.parametrize("value", [{"$float": "nan"}, {"$codec": ""}, {"$x": 1}, {1: 2}])
def test_no_value_passes_for_a_special_one(value):
    assert loads(dumps(value)) == value


@pytest.mark.parametrize("value", [object(), {1, 2}, "\ud800", 1 << 2000, {"a": lambda: 0}])
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(CodecError):
        dumps(value)


def test_depth_is_limited_both_ways():
    value: list = []
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    assert loads(dumps(value)) == value
    with pytest.raises(CodecError, match="deeper"):
        dumps([value])
    with pytest.raises(CodecError, match="deeper"):
        loads(b"[" + dumps(value) + b"]")


def test_the_number_of_containers_is_limited_both_ways():
    with pytest.raises(CodecError, match="use arrays"):
        dumps([[]] * 100_000)
    with pytest.raises(CodecError, match="lists"):
        loads(b"[" + b"[]," * 100_000 + b"[]]")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b" 1",
        b"1 ",
        b"1.00",
        b"1e400",
        b"NaN",
        b"[Infinity]",
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a": 1}',
        b'"\\u0041"',
        b'"\\/"',
        b'"\xff"',
        b'{"$float":"1"}',
        b'{"$float":["nan"]}',
        b'{"$codec":1}',
        b'{"$codec":"!!!!"}',
        b'{"$codec":"AA"}',
        b'{"$codec":"gICAgIA="}',
        b'{"$other":1}',
        b'{"$float":"nan","x":1}',
        b"9" * 5000,
        b"0." + b"1" * 10**6,
        b"[" * 10**6,
        b'{"a":' * 10**5,
        "\ufeff1".encode(),
        b'"\\ud800"',
    ],
)
def test_only_what_dumps_writes_is_read(text):
    with pytest.raises(CodecError):
        loads(text)
