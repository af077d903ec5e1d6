from __future__ import annotations

import json

import numpy as np
import pytest

from ludus.spaces import Box, Dict, Discrete, OneOf, SpaceTypeError, SpaceValueError, Text, Tuple


@pytest.fixture
def space():
    return OneOf([Discrete(3), Box(0, 1, (2,)), Text(2)], seed=1)


@pytest.mark.parametrize(
    ("spaces", "error"), [([], SpaceValueError), (3, SpaceTypeError), ([3], SpaceTypeError)]
)
def test_bad_arguments(spaces, error):
    with pytest.raises(error):
        OneOf(spaces)


def test_samples(space):
    samples = [space.sample() for _ in range(60)]
    assert {int(index) for index, _ in samples} == {0, 1, 2}
    assert all(sample in space for sample in samples)
    assert type(samples[0][0]) is np.int64


def test_masks(space):
    mask = (np.array([0, 1, 0], np.int8), None, (1, None))
    for _ in range(20):
        index, value = space.sample(mask=mask)
        assert index != 0 or value == 1
        assert index != 2 or len(value) == 1
    assert space.sample(probability=(np.array([0, 0, 1.0]), None, None)) in space


@pytest.mark.parametrize(
    "kwargs", [{"mask": (), "probability": ()}, {"mask": [None] * 3}, {"probability": (None,)}]
)
def test_bad_masks(space, kwargs):
    with pytest.raises(AssertionError):
        space.sample(**kwargs)


def test_seeds(space):
    seeds = space.seed(3)
    assert len(seeds) == 4
    sample = space.sample()
    assert space.seed(seeds) == seeds
    again = space.sample()
    assert sample[0] == again[0]
    np.testing.assert_array_equal(sample[1], again[1])
    with pytest.raises(SpaceValueError, match="4 seeds.*got 3"):
        space.seed(seeds[:3])
    with pytest.raises(SpaceTypeError):
        space.seed("a")


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ((0, 2), True),
        ((np.int64(0), 2), True),
        ((2, "ab"), True),
        ((0, 3), False),
        ((2, 2), False),
        ((3, 1), False),
        ((-1, "ab"), False),
        ((np.int8(0), 2), False),
        ([0, 2], False),
        ((0, 2, 1), False),
        (2, False),
    ],
)
def test_contains(space, value, member):
    assert space.contains(value) is member


def test_access_repr_equality(space):
    assert len(space) == 3
    assert space[2] == Text(2)
    assert repr(OneOf([Discrete(2), Discrete(3)])) == "OneOf(Discrete(2), Discrete(3))"
    assert OneOf([Discrete(2)]) == OneOf((Discrete(2),))
    assert OneOf([Discrete(2)]) != OneOf([Discrete(3)])
    assert space.is_np_flattenable


def test_jsonable_of_composite_parts():
    space = OneOf([Tuple([Discrete(3), Text(2)]), Dict(a=Discrete(2)), Discrete(5)], seed=2)
    samples = [space.sample() for _ in range(20)]
    plain = json.loads(json.dumps(space.to_jsonable(samples)))
    assert space.from_jsonable(plain) == samples
