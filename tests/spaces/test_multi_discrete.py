from __future__ import annotations

import numpy as np
import pytest

from ludus.spaces import Discrete, MultiDiscrete, SpaceRangeError, SpaceValueError


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"nvec": [2, 0]}, SpaceValueError, "nvec .*positive"),
        ({"nvec": [-1]}, SpaceValueError, "nvec .*positive"),
        ({"nvec": [2], "dtype": None}, SpaceValueError, "dtype"),
        ({"nvec": [2], "dtype": float}, SpaceValueError, "dtype.*float64"),
        ({"nvec": [2, 2], "start": [0]}, SpaceValueError, r"\(2,\), got \(1,\)"),
        ({"nvec": [300], "dtype": "u1"}, SpaceRangeError, "nvec=.*300"),
        ({"nvec": np.array([300]), "dtype": "u1"}, SpaceRangeError, "nvec=.*300"),
        ({"nvec": [2], "start": [-1], "dtype": "u1"}, SpaceRangeError, "start=.*-1"),
        ({"nvec": [100], "start": [100], "dtype": "i1"}, SpaceRangeError, "up to 127"),
        ({"nvec": ["a"]}, ValueError, "invalid"),
        ({"nvec": [[1], [1, 2]]}, ValueError, "inhomogeneous"),
    ],
)
def test_bad_arguments(kwargs, error, words):
    with pytest.raises(error, match=words):
        MultiDiscrete(**kwargs)


def test_arguments_are_copied():
    nvec = np.array([2, 3])
    space = MultiDiscrete(nvec, start=nvec)
    nvec[:] = 9
    assert space.nvec.tolist() == space.start.tolist() == [2, 3]


def test_samples_cover_the_ranges():
    space = MultiDiscrete([[2, 3]], start=[[5, -1]], dtype="i2", seed=3)
    samples = np.array([space.sample() for _ in range(200)])
    assert samples.dtype == np.int16
    assert set(samples[:, 0, 0]) == {5, 6}
    assert set(samples[:, 0, 1]) == {-1, 0, 1}
    assert all(sample in space for sample in samples)


def test_mask_and_probability():
    space = MultiDiscrete([2, 3], start=[10, 20], seed=1)
    mask = (np.array([0, 0], np.int8), np.array([0, 1, 1], np.int8))
    samples = np.array([space.sample(mask=mask) for _ in range(40)])
    assert set(samples[:, 0]) == {10}
    assert set(samples[:, 1]) == {21, 22}
    chances = (np.array([0.0, 1.0]), np.array([0.5, 0.0, 0.5]))
    samples = np.array([space.sample(probability=chances) for _ in range(40)])
    assert set(samples[:, 0]) == {11}
    assert set(samples[:, 1]) == {20, 22}


def test_mask_of_two_axes():
    space = MultiDiscrete([[2, 2]], seed=1)
    one = np.array([0, 1], np.int8)
    assert space.sample(mask=((one, one),)).tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"mask": 1, "probability": 1}, "only one of"),
        ({"mask": np.ones(2, np.int8)}, "tuple"),
        ({"mask": ()}, "1 parts, got 0"),
        ({"mask": ([1, 0],)}, "np.ndarray"),
        ({"mask": (np.ones(3, np.int8),)}, "shape"),
        ({"mask": (np.array([0, 5], np.int8),)}, "0 or 1"),
        ({"probability": (np.array([0.5, 0.2]),)}, "sum"),
        ({"probability": (np.array([2.0, -1.0]),)}, "between"),
    ],
)
def test_bad_masks(kwargs, words):
    with pytest.raises(AssertionError, match=words):
        MultiDiscrete([2]).sample(**kwargs)


@pytest.mark.parametrize(
    ("value", "member"),
    [
        (np.array([5, 0]), True),
        ([6, 2], True),
        ((5, 0), True),
        ([4, 0], False),
        ([7, 0], False),
        ([5, 3], False),
        (np.array([5.0, 0.0]), False),
        (np.array([5, 0], np.int8), True),
        ([5], False),
        ([[5], [5, 0]], False),
        ("50", False),
        (None, False),
    ],
)
def test_contains(value, member):
    assert MultiDiscrete([2, 3], start=[5, 0]).contains(value) is member


def test_contains_at_the_end_of_the_dtype():
    space = MultiDiscrete([100], start=[28], dtype=np.int8)
    assert np.array([127], np.int8) in space
    assert np.array([-128], np.int8) not in space


def test_parts():
    space = MultiDiscrete([[3, 4], [5, 6]], start=[[0, 1], [2, 3]], dtype="i4", seed=7)
    assert space[0, 1] == Discrete(4, start=1, dtype="i4")
    assert space[1] == MultiDiscrete([5, 6], start=[2, 3], dtype="i4")
    assert space[:, 0] == MultiDiscrete([3, 5], start=[0, 2], dtype="i4")
    assert space[0].sample().tolist() == space[0].sample().tolist()
    with pytest.raises(IndexError):
        space[2]


def test_length():
    assert len(MultiDiscrete([2, 3, 4])) == 3
    with pytest.warns(UserWarning, match="multi-dimensional"):
        assert len(MultiDiscrete([[2, 3, 4]])) == 1


def test_repr_and_equality():
    assert repr(MultiDiscrete([2, 3])) == "MultiDiscrete([2 3])"
    assert repr(MultiDiscrete([2], start=[1])) == "MultiDiscrete([2], start=[1])"
    space = MultiDiscrete([2, 3])
    assert space == MultiDiscrete(np.array([2, 3]))
    others = [
        MultiDiscrete([2, 4]),
        MultiDiscrete([2, 3], start=[0, 1]),
        MultiDiscrete([[2, 3]]),
        1,
    ]
    assert all(space != other for other in [*others, MultiDiscrete([2, 3], dtype="i4")])


def test_legacy_state_has_no_start():
    space = MultiDiscrete([2, 3])
    state = dict(space.__dict__)
    del state["start"], space.start
    space.__setstate__(state)
    assert space.start.tolist() == [0, 0]


def test_jsonable():
    space = MultiDiscrete([2, 3], dtype="i2")
    plain = space.to_jsonable([np.array([1, 2], "i2")])
    assert plain == [[1, 2]]
    assert space.from_jsonable(plain)[0].dtype == np.int16
