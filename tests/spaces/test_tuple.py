from __future__ import annotations

import numpy as np
import pytest

from ludus.spaces import Box, Discrete, SpaceTypeError, SpaceValueError, Text, Tuple


@pytest.fixture
def space():
    return Tuple([Discrete(3), Tuple([Box(0, 1, (2,)), Discrete(5)])])


@pytest.mark.parametrize("spaces", [[1], [Discrete(2), "a"], None, 3])
def test_bad_arguments(spaces):
    with pytest.raises(SpaceTypeError):
        Tuple(spaces)


def test_sequence(space):
    assert len(space) == 2
    assert space[0] == Discrete(3)
    assert space[-1] is space.spaces[1]
    assert space[:1] == (Discrete(3),)
    assert list(space) == list(space.spaces)
    assert list(reversed(space)) == [space[1], space[0]]
    assert space.index(Discrete(3)) == 0
    assert space.count(Discrete(3)) == 1
    assert space.shape is None
    assert space.dtype is None


def test_seeds(space):
    seeds = space.seed(3)
    sample = space.sample()
    assert space.seed(seeds) == seeds
    again = space.sample()
    assert sample[0] == again[0]
    np.testing.assert_array_equal(sample[1][0], again[1][0])
    assert space.seed([1, [2, 3]]) == (1, (2, 3))
    assert space.seed((1, None))[0] == 1


@pytest.mark.parametrize(
    ("seed", "error", "words"),
    [
        ([1], SpaceValueError, "2, got 1"),
        ("12", SpaceTypeError, "'12'"),
        (1.5, SpaceTypeError, "1.5"),
        ({0: 1}, SpaceTypeError, "dict"),
    ],
)
def test_bad_seeds(space, seed, error, words):
    with pytest.raises(error, match=words):
        space.seed(seed)


def test_masks(space):
    one = np.array([0, 0, 1], np.int8)
    assert space.sample(mask=(one, None))[0] == 2
    five = np.array([0.0, 0, 0, 0, 1])
    assert space.sample(probability=(None, (None, five)))[1][1] == 4


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"mask": (None, None), "probability": (None, None)}, "only one of"),
        ({"mask": [None, None]}, "tuple"),
        ({"probability": (None,)}, "2 subspaces, got 1"),
    ],
)
def test_bad_masks(space, kwargs, words):
    with pytest.raises(AssertionError, match=words):
        space.sample(**kwargs)


def test_contains(space):
    sample = space.sample()
    assert sample in space
    assert list(sample) in space
    assert (3, sample[1]) not in space
    assert sample[:1] not in space
    assert None not in space
    assert np.array([1, 2]) in Tuple([Discrete(3), Discrete(3)])


def test_empty():
    space = Tuple([])
    assert space.sample() == ()
    assert () in space
    assert space.seed(1) == ()


def test_repr_equality_jsonable(space):
    assert (
        repr(Tuple([Discrete(2), Text(1, charset="a")]))
        == "Tuple(Discrete(2), Text(1, 1, charset=a))"
    )
    assert space == Tuple([Discrete(3), Tuple([Box(0, 1, (2,)), Discrete(5)])])
    assert space != Tuple([Discrete(3)])
    assert space != space.spaces
    samples = [space.sample() for _ in range(3)]
    plain = space.to_jsonable(iter(samples))
    assert [len(column) for column in plain] == [3, 2]
    for sample, restored in zip(samples, space.from_jsonable(plain), strict=True):
        assert sample[0] == restored[0]
        np.testing.assert_array_equal(sample[1][0], restored[1][0])


def test_flattenable(space):
    assert space.is_np_flattenable
