from __future__ import annotations

import numpy as np
import pytest

from ludus.spaces import MultiBinary, SpaceValueError


@pytest.mark.parametrize("n", [0, -1, (2, 0), [3, -1], 2.0, None, {2}, "x"])
def test_bad_arguments(n):
    with pytest.raises(ValueError, match="n |invalid literal"):
        MultiBinary(n)


@pytest.mark.parametrize(
    ("n", "kept", "shape"),
    [
        (3, 3, (3,)),
        (np.int64(3), 3, (3,)),
        ((3,), (3,), (3,)),
        ([2, 3], (2, 3), (2, 3)),
        (np.array([2, 3]), (2, 3), (2, 3)),
    ],
)
def test_shape(n, kept, shape):
    space = MultiBinary(n, seed=1)
    assert space.n == kept
    assert space.shape == shape
    assert space.dtype == np.int8
    sample = space.sample()
    assert sample.shape == shape
    assert sample.dtype == np.int8
    assert sample in space


def test_samples_are_fair():
    space = MultiBinary(8, seed=1)
    mean = np.mean([space.sample() for _ in range(500)], axis=0)
    np.testing.assert_allclose(mean, 0.5, atol=0.1)


def test_mask():
    space = MultiBinary(3, seed=1)
    samples = np.array([space.sample(mask=np.array([0, 1, 2], np.int8)) for _ in range(50)])
    assert not samples[:, 0].any()
    assert samples[:, 1].all()
    assert 0 < samples[:, 2].sum() < 50
    assert samples.dtype == np.int8


def test_probability():
    space = MultiBinary((1, 2), seed=1)
    samples = np.array([space.sample(probability=np.array([[0.9, 1.0]])) for _ in range(200)])
    assert samples[:, 0, 1].all()
    assert 160 < samples[:, 0, 0].sum() < 200
    assert samples.dtype == np.int8


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"mask": 1, "probability": 1}, "only one of"),
        ({"mask": [0, 1]}, "np.ndarray"),
        ({"mask": np.array([0, 1])}, "np.int8"),
        ({"mask": np.array([1], np.int8)}, "shape"),
        ({"mask": np.array([1, 3], np.int8)}, "0, 1 or 2"),
        ({"probability": np.array([0.5])}, "shape"),
        ({"probability": np.array([0.5, 1.1])}, "between 0 and 1"),
    ],
)
def test_bad_masks(kwargs, words):
    with pytest.raises(AssertionError, match=words):
        MultiBinary(2).sample(**kwargs)


@pytest.mark.parametrize(
    ("value", "member"),
    [
        (np.array([0, 1]), True),
        (np.array([0.0, 1.0]), True),
        (np.array([True, False]), True),
        ([0, 1], True),
        ((0, 1), True),
        ([0, 2], False),
        (np.array([0.5, 1]), False),
        ([0], False),
        ([[0, 1]], False),
        ([[0], [0, 1]], False),
        ("01", False),
        (None, False),
    ],
)
def test_contains(value, member):
    assert MultiBinary(2).contains(value) is member


def test_repr_equality_jsonable():
    assert repr(MultiBinary(2)) == "MultiBinary(2)"
    assert repr(MultiBinary([2, 3])) == "MultiBinary((2, 3))"
    assert MultiBinary(2) == MultiBinary(2)
    assert MultiBinary(2) != MultiBinary((2,))
    space = MultiBinary([1, 2])
    samples = [space.sample(), space.sample()]
    plain = space.to_jsonable(samples)
    assert plain == [sample.tolist() for sample in samples]
    restored = space.from_jsonable(plain)
    np.testing.assert_array_equal(restored, samples)
    assert restored[0].dtype == np.int8


def test_error_kind():
    with pytest.raises(SpaceValueError, match="positive"):
        MultiBinary(0)
