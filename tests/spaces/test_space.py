from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from ludus.errors import Error
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Space,
    SpaceRangeError,
    SpaceTypeError,
    SpaceValueError,
)


class Parity(Space[int]):
    """A custom space that defines just what the contract asks for."""

    def __init__(self, seed=None):
        super().__init__((), np.int64, seed)

    is_np_flattenable = False

    def sample(self, mask=None, probability=None):
        return int(self.np_random.integers(10)) * 2

    def contains(self, x):
        return isinstance(x, int) and x % 2 == 0


def test_custom_space():
    space = Parity(seed=3)
    assert space.shape == ()
    assert space.dtype == np.int64
    assert space.sample() in space
    assert 3 not in space
    assert space.to_jsonable((2, 4)) == [2, 4]
    assert space.from_jsonable([2, 4]) == [2, 4]


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("sample", lambda space: space.sample()),
        ("contains", lambda space: 1 in space),
        ("is_np_flattenable", lambda space: space.is_np_flattenable),
    ],
)
def test_bare_space_says_what_is_missing(name, use):
    with pytest.raises(NotImplementedError, match=name):
        use(Space())


def test_generator_is_made_on_first_use():
    space = Discrete(5)
    assert space._np_random is None
    space.sample()
    assert space._np_random is not None


def test_given_generator_is_shared():
    rng = np.random.default_rng(3)
    first, second = Discrete(1000, seed=rng), Discrete(1000, seed=rng)
    assert first.np_random is second.np_random is rng
    assert first.sample() != second.sample()


def test_unseeded_spaces_differ():
    assert Discrete(2**60).sample() != Discrete(2**60).sample()


def test_composite_space_has_a_generator_without_seed():
    space = Dict(a=Discrete(2))
    assert isinstance(space.np_random, np.random.Generator)


@pytest.mark.parametrize("seed", [-1, 1.5, "a", np.int64(3)])
def test_bad_seed(seed):
    with pytest.raises(Error):
        Discrete(2).seed(seed)


def test_seed_returns_what_repeats_the_stream():
    space = Box(0, 1, (3,))
    used = space.seed()
    first = space.sample()
    assert space.seed(used) == used
    np.testing.assert_array_equal(space.sample(), first)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies_are_independent(clone):
    space = Discrete(10**6, seed=1)
    other = clone(space)
    assert other == space
    assert other.sample() == space.sample()
    other.sample()
    assert other.sample() != space.sample()


def test_legacy_state():
    space = Discrete(3)
    space.__setstate__([("shape", (7,)), ("np_random", None), ("n", np.int64(4))])
    assert space._shape == (7,)
    assert space._np_random is None
    assert space.n == 4


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (SpaceValueError, (Error, ValueError, AssertionError)),
        (SpaceTypeError, (Error, TypeError, AssertionError)),
        (SpaceRangeError, (SpaceValueError, OverflowError)),
    ],
)
def test_errors_serve_every_handler(error, kinds):
    assert all(issubclass(error, kind) for kind in kinds)
