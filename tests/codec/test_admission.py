from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.codec import DecodeLimits, admit, admit_info, decode, encode
from ludus.errors import CodecError, Inadmissible
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    GraphInstance,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
)
from tests.codec.plain_values import same

BOX = Box(-1, 2, (2, 3))
SPACES: list[Space[Any]] = [
    BOX,
    Box(-np.inf, np.inf, (3,), np.float64),
    Box(0, 255, (4, 4, 3), np.uint8),
    Box(0, 1, (3,), np.bool_),
    Box(-1, 1, (), np.float16),
    Box(np.array([-1, -np.inf]), np.array([np.inf, 5]), dtype=np.float64),
    Discrete(5),
    Discrete(4, start=-3, dtype=np.int8),
    MultiBinary(5),
    MultiBinary((2, 3)),
    MultiDiscrete([3, 4]),
    MultiDiscrete([[2, 3], [4, 5]], dtype=np.int16, start=[[1, 2], [3, 4]]),
    Text(12),
    Text(5, min_length=0, charset="aß漢"),
    Tuple((Discrete(3), BOX, Text(4))),
    Tuple(()),
    Dict(a=Discrete(2), b=Dict(c=BOX, d=Tuple((Text(3),)))),
    Dict(),
    OneOf((Discrete(3), BOX, Text(4))),
    Sequence(Discrete(4)),
    Sequence(Dict(a=BOX, t=Text(3))),
    Sequence(BOX, stack=True),
    Sequence(Discrete(4), stack=True),
    Sequence(Dict(a=BOX, b=Tuple((Discrete(3), MultiBinary(2)))), stack=True),
    Sequence(Tuple((Text(4), MultiDiscrete([3, 3]))), stack=True),
    Sequence(Text(4), stack=True),
    Graph(BOX, Discrete(3)),
    Graph(Discrete(3), None),
    Graph(MultiDiscrete([3, 4]), MultiBinary(2)),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_members_are_admitted_as_they_are_also_through_the_codec(space: Space[Any]) -> None:
    space.seed(7)
    for _ in range(20):
        member = space.sample()
        for value in (member, decode(encode(member))):
            admitted = admit(space, value)
            assert space.contains(admitted)
            assert same(admitted, member)
            assert _arrays(admitted).isdisjoint(_arrays(value))


def _arrays(value: Any) -> set[int]:
    if isinstance(value, np.ndarray):
        return {value.__array_interface__["data"][0]} if value.size else set()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return set().union(*map(_arrays, parts)) if parts else set()


class Obstacle:
    """Raises whatever is done with it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("==")

    __hash__ = object.__hash__


F4 = np.float32
LOOP: list[Any] = []
LOOP.append(LOOP)
DICT = Dict(a=Discrete(2), b=BOX)
GRAPH = Graph(Discrete(3), Box(0, 1, (1,)))
STACK = Sequence(Dict(a=BOX, t=Text(3)), stack=True)
ROW = np.zeros((1, 2, 3), F4)

REFUSED: list[tuple[Space[Any], Any, str, str]] = [
    (BOX, [[0, 0, 0], [0, 0, 0]], "obs", "expected an array, got list"),
    (BOX, np.zeros((2, 3)), "obs", "dtype float32, got float64"),
    (BOX, np.zeros((2, 3), ">f4"), "obs", "dtype float32, got >f4"),
    (BOX, np.zeros((2, 3), np.int8), "obs", "dtype float32, got int8"),
    (BOX, np.zeros((2, 3), object), "obs", "got object"),
    (BOX, np.zeros((3, 2), F4), "obs", r"shape \(2, 3\), got \(3, 2\)"),
    (BOX, np.zeros((2, 3, 1), F4), "obs", "shape"),
    (BOX, np.full((2, 3), 9, F4), "obs[0, 0]", "9.0 is not within -1.0 and 2.0"),
    (BOX, np.array([[0, 0, 0], [0, np.nan, 0]], F4), "obs[1, 1]", "nan is not within"),
    (BOX, np.array([[0, 0, np.inf], [0, 0, 0]], F4), "obs[0, 2]", "inf is not within"),
    (BOX, np.ma.zeros((2, 3), F4), "obs", "got MaskedArray"),
    (Box(-np.inf, np.inf, (1,)), np.array([np.nan], F4), "obs[0]", "nan"),
    (Box(0, 1, (1,), np.bool_), np.array([2], np.uint8).view(np.bool_), "obs", "no bool"),
    (Discrete(3), 3, "obs", "3 is not within 0 and 2"),
    (Discrete(3), -1, "obs", "-1 is not within"),
    (Discrete(3), 10**5000, "obs", "many digits is not within"),
    (Discrete(3), True, "obs", "got True"),
    (Discrete(3), 1.0, "obs", "got 1.0"),
    (Discrete(3), np.int32(1), "obs", "scalar of int64, got"),
    (Discrete(3), np.array([1]), "obs", "got a ndarray"),
    (Discrete(3), None, "obs", "got None"),
    (MultiDiscrete([3, 4]), np.array([3, 0]), "obs[0]", "3 is not within 0 and 2"),
    (MultiDiscrete([3, 4]), np.array([0, -1]), "obs[1]", "-1"),
    (MultiDiscrete([3, 4]), (0, 0), "obs", "got tuple"),
    (MultiBinary(2), np.array([0, 2], np.int8), "obs[1]", "2 is not within 0 and 1"),
    (MultiBinary(2), np.array([0, 1]), "obs", "dtype int8, got int64"),
    (Text(3), "four", "obs", "length 4 is not within 1 and 3"),
    (Text(3), "", "obs", "length 0"),
    (Text(3), "a!", "obs", "characters outside"),
    (Text(3), b"abc", "obs", "expected a text, got bytes"),
    (Text(3), np.str_("abc"), "obs", "expected a text, got str_"),
    (Tuple((Discrete(3),)), (1, 2), "obs", "expected 1 parts, got 2"),
    (Tuple((Discrete(3),)), {0: 1}, "obs", "expected a tuple, got dict"),
    (Tuple((Discrete(3),)), LOOP, "obs[0]", "expected an int"),
    (Tuple((Discrete(3), BOX)), (1, None), "obs[1]", "expected an array, got NoneType"),
    (DICT, {"a": 1}, "obs", "missing keys: 'b'; unknown keys: none"),
    (DICT, {"a": 1, "b": BOX.low, "c": 0}, "obs", "unknown keys: 'c'"),
    (DICT, {"a": 7, "b": BOX.low}, "obs['a']", "7 is not within"),
    (DICT, [("a", 1)], "obs", "expected a dict, got list"),
    (OneOf((Discrete(3), BOX)), (2, 0), "obs[0]", "2 is not within 0 and 1"),
    (OneOf((Discrete(3), BOX)), (-1, 0), "obs[0]", "-1"),
    (OneOf((Discrete(3), BOX)), (1, 0), "obs[1]", "expected an array"),
    (OneOf((Discrete(3), BOX)), (0,), "obs", "expected 2 parts"),
    (Sequence(Discrete(3)), (0, 1, 5), "obs[2]", "5 is not within"),
    (Sequence(Discrete(3)), np.array([0, 1]), "obs", "expected a tuple, got ndarray"),
    (Sequence(BOX, stack=True), np.zeros((2, 3), F4), "obs", r"shape \(any, 2, 3\)"),
    (Sequence(BOX, stack=True), np.full((1, 2, 3), 5, F4), "obs[0, 0, 0]", "5.0"),
    (STACK, {"a": ROW, "t": ("a", "b")}, "obs", r"numbers of rows: \[1, 2\]"),
    (STACK, {"a": ROW, "t": ("!",)}, "obs['t'][0]", "characters outside"),
    (GRAPH, GraphInstance(np.array([7]), None, None), "obs.nodes[0]", "7"),
    (GRAPH, GraphInstance(None, None, None), "obs.nodes", "expected an array"),
    (GRAPH, (np.array([1]), np.zeros((1, 1), F4), None), "obs.edge_links", "array of integers"),
    (GRAPH, (np.array([1]), None, np.zeros((1, 2), int)), "obs.edges", "expected an array"),
    (
        GRAPH,
        (np.array([1]), np.zeros((1, 1), F4), np.array([[0, 1]])),
        "obs.edge_links[0, 1]",
        "1 is not within 0 and 0",
    ),
    (
        GRAPH,
        (np.array([1]), np.zeros((1, 1), F4), np.zeros((2, 2), int)),
        "obs.edge_links",
        r"shape \(1, 2\)",
    ),
    (
        GRAPH,
        (np.array([1]), np.zeros((1, 1), F4), np.zeros((1, 2))),
        "obs.edge_links",
        "array of integers",
    ),
    (
        GRAPH,
        (np.array([1]), np.zeros((1, 1), F4), Obstacle()),
        "obs.edge_links",
        "got a Obstacle",
    ),
    (
        GRAPH,
        (np.zeros(0, int), np.zeros((1, 1), F4), np.zeros((1, 2), np.uint64)),
        "obs.edge_links[0, 0]",
        "0 is not within 0 and -1",
    ),
    (
        Graph(Discrete(3), Dict()),
        (np.array([1]), {}, np.zeros((1, 2), int)),
        "obs.edge_links",
        r"shape \(0, 2\)",
    ),
    (Graph(Discrete(3), None), (np.array([1]), 1, 1), "obs.edges", "no edges"),
]


@pytest.mark.parametrize(("space", "value", "path", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_anything_else_is_refused_with_its_path(
    space: Space[Any], value: Any, path: str, reason: str
) -> None:
    with pytest.raises(Inadmissible, match=reason) as caught:
        admit(space, value, name="obs")
    assert caught.value.path == path
    assert isinstance(caught.value, CodecError)


def test_infinite_values_belong_where_the_bound_is_infinite() -> None:
    value = np.array([np.inf], np.float32)
    assert same(admit(Box(0, np.inf, (1,)), value), value)


def test_an_int_stays_an_int_and_an_array_of_no_axes_becomes_a_scalar() -> None:
    assert type(admit(Discrete(3), 1)) is int
    assert same(admit(Discrete(3), np.array(1)), np.int64(1))


def test_lists_become_the_tuples_that_the_space_declares() -> None:
    assert same(admit(Tuple((Discrete(3), Text(2))), [1, "a"]), (1, "a"))
    graph = admit(GRAPH, [np.array([1]), None, None])
    assert isinstance(graph, GraphInstance)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_strange_objects_are_never_asked(space: Space[Any]) -> None:
    with pytest.raises(Inadmissible):
        admit(space, Obstacle())


@pytest.mark.parametrize(
    ("space", "value", "limits"),
    [
        (Sequence(Discrete(3)), (0,) * 11, DecodeLimits(items=10)),
        (Sequence(BOX, stack=True), np.zeros((9, 2, 3), F4), DecodeLimits(array_bytes=200)),
        (Sequence(BOX), (np.zeros((2, 3), F4),) * 9, DecodeLimits(total_bytes=200)),
        (Text(100), "a" * 50, DecodeLimits(string_bytes=49)),
        (Tuple((Text(100), Text(100))), ("a" * 50, "a" * 50), DecodeLimits(total_bytes=99)),
    ],
)
def test_the_limits_hold_for_the_whole_value(
    space: Space[Any], value: Any, limits: DecodeLimits
) -> None:
    assert same(admit(space, value), value)
    with pytest.raises(Inadmissible):
        admit(space, value, limits=limits)


class Even(Discrete):
    def contains(self, x: Any) -> bool:
        return super().contains(x) and int(x) % 2 == 0


class Names(Space[Any]):
    def contains(self, x: Any) -> bool:
        return x["name"] == "ludus"


def test_custom_spaces_judge_a_clean_copy() -> None:
    assert admit(Even(5), 4) == 4
    with pytest.raises(Inadmissible, match="not in"):
        admit(Even(5), 3)
    value = {"name": "ludus", "extra": np.zeros(2)}
    admitted = admit(Names(), value)
    assert same(admitted, value)
    assert admitted["extra"] is not value["extra"]
    pair = Tuple((Names(), Names()))
    assert admit(pair, ({"name": "ludus"}, {"name": "ludus"}), limits=DecodeLimits(total_bytes=40))
    with pytest.raises(Inadmissible, match="the whole value exceeds"):
        admit(pair, ({"name": "ludus"}, {"name": "ludus"}), limits=DecodeLimits(total_bytes=20))
    for wrong in ({"name": "other"}, {}, 5, {"name": Obstacle()}):
        with pytest.raises(Inadmissible):
            admit(Names(), wrong)


def test_infos_are_copied() -> None:
    info = {"a": 1.5, "b": {"c": np.arange(3), "d": [None, "text", (True,)]}, "e": np.float32(1)}
    admitted = admit_info(info)
    assert same(admitted, info)
    assert admitted["b"]["c"] is not info["b"]["c"]
    assert admit_info({}) == {}


@pytest.mark.parametrize(
    ("info", "path"),
    [
        ([], "info"),
        (None, "info"),
        ({1: 2}, "info[1]"),
        ({"a": {1: 2}}, "info['a'][1]"),
        ({"a": [0, Obstacle()]}, "info['a'][1]"),
        ({"a": np.array([None])}, "info['a']"),
        ({"a": "x" * 70_000}, "info['a']"),
        ({"k" * 300: 1}, f"info['{'k' * 300}']"),
        ({"a": [0] * 10_001}, "info['a']"),
        ({"a": LOOP}, "info['a']" + "[0]" * 7),
        ({"a": np.zeros(2**22)}, "info['a']"),
    ],
)
def test_infos_that_are_not_plain_or_too_large_are_refused(info: Any, path: str) -> None:
    with pytest.raises(Inadmissible) as caught:
        admit_info(info)
    assert caught.value.path == path
