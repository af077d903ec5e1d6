from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from ludus.spaces import Box, Dict, Discrete, Sequence, SpaceTypeError, SpaceValueError


@pytest.fixture
def space():
    return Dict({"b": Discrete(3), "a": Dict(x=Box(0, 1, (2,)), y=Discrete(5))})


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "words"),
    [
        ((1,), {}, SpaceTypeError, "got 1"),
        (({"a"},), {}, SpaceTypeError, "set"),
        (({"a": 1},), {}, SpaceTypeError, "'a'.*1"),
        ((), {"a": "b"}, SpaceTypeError, "'a'"),
        (({"a": Discrete(2)},), {"a": Discrete(2)}, SpaceValueError, "'a' twice"),
    ],
)
def test_bad_arguments(args, kwargs, error, words):
    with pytest.raises(error, match=words):
        Dict(*args, **kwargs)


@pytest.mark.parametrize(
    ("spaces", "sort_keys", "order"),
    [
        ({"b": 1, "a": 2}, True, ["a", "b"]),
        ({"b": 1, "a": 2}, False, ["b", "a"]),
        (OrderedDict(b=1, a=2), True, ["b", "a"]),
        ([("b", 1), ("a", 2)], True, ["b", "a"]),
        ({"b": 1, 3: 2}, True, ["b", 3]),
        (None, True, []),
    ],
)
def test_order_of_keys(spaces, sort_keys, order):
    if isinstance(spaces, dict):
        spaces = type(spaces)((key, Discrete(n)) for key, n in spaces.items())
    elif spaces:
        spaces = [(key, Discrete(n)) for key, n in spaces]
    space = Dict(spaces, sort_keys=sort_keys)
    assert list(space) == list(space.sample()) == order
    assert space.sort_keys is sort_keys


def test_keywords_come_last():
    assert list(Dict({"z": Discrete(2)}, b=Discrete(2), a=Discrete(2))) == ["z", "b", "a"]


def test_mapping(space):
    assert len(space) == 2
    assert list(space.keys()) == ["a", "b"]
    assert list(space.values()) == [space["a"], space["b"]]
    assert dict(space.items()) == space.spaces
    assert space.get("nothing") is None
    assert space["b"] == Discrete(3)
    space["c"] = Discrete(7)
    assert space["c"] == Discrete(7)
    assert "c" in space.keys()  # noqa: SIM118 - `in space` asks for members
    with pytest.raises(SpaceTypeError, match="'d'"):
        space["d"] = 3
    with pytest.raises(KeyError):
        space["e"]


def test_seeds(space):
    seeds = space.seed(3)
    sample = space.sample()
    assert space.seed(seeds) == seeds
    again = space.sample()
    assert sample["b"] == again["b"]
    np.testing.assert_array_equal(sample["a"]["x"], again["a"]["x"])
    assert space.seed({"b": 1, "a": {"x": 2, "y": 3}}) == {"b": 1, "a": {"x": 2, "y": 3}}
    assert Dict(a=Discrete(2**40), seed={"a": 4})["a"].sample() == Discrete(2**40, seed=4).sample()


@pytest.mark.parametrize(
    ("seed", "error"),
    [({"b": 1}, SpaceValueError), ([1, 2], SpaceTypeError), ("a", SpaceTypeError)],
)
def test_bad_seeds(space, seed, error):
    with pytest.raises(error):
        space.seed(seed)


def test_masks(space):
    mask = {"b": np.array([0, 1, 0], np.int8), "a": {"x": None, "y": None}}
    assert space.sample(mask=mask)["b"] == 1
    assert space.sample(probability={"b": np.array([0, 0, 1.0]), "a": None})["b"] == 2


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"mask": {}, "probability": {}}, "only one of"),
        ({"mask": (None,)}, "dict, got"),
        ({"probability": {"a": None}}, r"\['a'\].*\['a', 'b'\]"),
    ],
)
def test_bad_masks(space, kwargs, words):
    with pytest.raises(AssertionError, match=words):
        space.sample(**kwargs)


def test_contains(space):
    sample = space.sample()
    assert sample in space
    assert OrderedDict(sample) in space
    assert dict(reversed(sample.items())) in space
    assert {**sample, "b": 3} not in space
    assert {**sample, "c": 3} not in space
    assert {"b": 1} not in space
    assert "b" not in space


def test_repr_and_equality(space):
    assert repr(Dict(a=Discrete(2))) == "Dict('a': Discrete(2))"
    assert space == Dict(a=Dict(y=Discrete(5), x=Box(0, 1, (2,))), b=Discrete(3))
    assert space != Dict(b=Discrete(3))
    assert space != space.spaces


def test_jsonable(space):
    samples = [space.sample() for _ in range(3)]
    plain = space.to_jsonable(iter(samples))
    assert plain["b"] == [int(sample["b"]) for sample in samples]
    for sample, restored in zip(samples, space.from_jsonable(plain), strict=True):
        np.testing.assert_array_equal(sample["a"]["x"], restored["a"]["x"])


def test_flattenable(space):
    assert space.is_np_flattenable
    assert not Dict(a=Sequence(Discrete(2))).is_np_flattenable
