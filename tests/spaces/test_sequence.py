from __future__ import annotations

import numpy as np
import pytest

from ludus.spaces import Box, Dict, Discrete, Sequence, SpaceTypeError, SpaceValueError, Text


def test_bad_arguments():
    with pytest.raises(SpaceTypeError, match="got 3"):
        Sequence(3)


def test_samples():
    space = Sequence(Discrete(4), seed=3)
    samples = [space.sample() for _ in range(300)]
    assert all(type(sample) is tuple and sample in space for sample in samples)
    assert 3.3 < np.mean([len(sample) for sample in samples]) < 4.7
    assert not space.is_np_flattenable


def test_stacked_samples():
    space = Sequence(Dict(a=Box(0, 1, (2,)), b=Discrete(3)), stack=True, seed=3)
    sample = space.sample(mask=(4, None))
    assert sample["a"].shape == (4, 2)
    assert sample["b"].shape == (4,)
    assert sample in space
    assert sample["a"] in Sequence(Box(0, 1, (2,)), stack=True)
    assert np.full((2, 2), 5, "f") not in Sequence(Box(0, 1, (2,)), stack=True)
    assert Sequence(Box(0, 1, (2,)), stack=True).sample(mask=(0, None)).shape == (0, 2)
    assert Sequence(Text(3), stack=True).sample(mask=(2, None))[1:] != ()


@pytest.mark.parametrize("kind", ["mask", "probability"])
def test_lengths(kind):
    space = Sequence(Discrete(4), seed=1)
    assert len(space.sample(**{kind: (3, None)})) == 3
    assert len(space.sample(**{kind: (np.int8(2), None)})) == 2
    lengths = {len(space.sample(**{kind: (np.array([1, 5]), None)})) for _ in range(20)}
    assert lengths == {1, 5}
    assert space.sample(**{kind: (None, None)}) in space


def test_weights_of_the_parts():
    space = Sequence(Discrete(3), seed=1)
    assert set(space.sample(mask=(9, np.array([0, 1, 0], np.int8)))) == {1}
    assert set(space.sample(probability=(9, np.array([0, 0, 1.0])))) == {2}


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ((-1, None), "negative"),
        ((1.5, None), "1.5"),
        ((True, None), "True"),
        ((np.array([[1]]), None), "1-dimensional"),
        ((np.array([1.0]), None), "integers"),
        ((np.array([1, -1]), None), "negative"),
    ],
)
def test_bad_lengths(mask, words):
    with pytest.raises(AssertionError, match=words):
        Sequence(Discrete(2)).sample(mask=mask)


def test_seeds():
    space = Sequence(Discrete(100))
    seeds = space.seed(3)
    sample = space.sample()
    assert len(seeds) == 2
    assert space.seed(seeds) == seeds
    assert space.sample() == sample
    with pytest.raises(SpaceValueError, match="2 seeds.*got 1"):
        space.seed([1])
    with pytest.raises(SpaceTypeError, match="'a'"):
        space.seed("a")


def test_contains():
    space = Sequence(Discrete(3))
    assert () in space
    assert (1, 2) in space
    assert [1, 2] not in space
    assert (1, 3) not in space
    assert None not in space


def test_repr_equality_jsonable():
    assert repr(Sequence(Discrete(2))) == "Sequence(Discrete(2), stack=False)"
    assert Sequence(Discrete(2)) == Sequence(Discrete(2))
    assert Sequence(Discrete(2)) != Sequence(Discrete(2), stack=True)
    assert Sequence(Discrete(2)) != Sequence(Discrete(3))
    for stack in (False, True):
        space = Sequence(Discrete(5), stack=stack, seed=1)
        samples = [space.sample(), space.sample()]
        plain = space.to_jsonable(samples)
        assert plain == [[int(part) for part in sample] for sample in samples]
        for sample, restored in zip(samples, space.from_jsonable(plain), strict=True):
            np.testing.assert_array_equal(sample, restored)
