from __future__ import annotations

from collections import Counter
from enum import IntEnum

import numpy as np
import pytest

from ludus.spaces import Discrete, SpaceRangeError, SpaceTypeError, SpaceValueError


class Move(IntEnum):
    LEFT = 0
    RIGHT = 1


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"n": 0}, SpaceValueError, "n .*positive, got 0"),
        ({"n": -1}, SpaceValueError, "n .*positive, got -1"),
        ({"n": 2.0}, SpaceTypeError, "`n`.*2.0"),
        ({"n": True}, SpaceTypeError, "`n`.*True"),
        ({"n": "2"}, SpaceTypeError, "`n`.*'2'"),
        ({"n": 2, "start": 0.5}, SpaceTypeError, "`start`.*0.5"),
        ({"n": 2, "dtype": None}, SpaceTypeError, "dtype"),
        ({"n": 2, "dtype": "f4"}, SpaceTypeError, "dtype.*float32"),
        ({"n": 256, "dtype": "u1"}, SpaceRangeError, "n = 256.*0 to 255"),
        ({"n": np.int64(256), "dtype": "u1"}, SpaceRangeError, "n = 256"),
        ({"n": 2, "start": -1, "dtype": "u1"}, SpaceRangeError, "start = -1"),
        ({"n": 100, "start": 100, "dtype": "i1"}, SpaceRangeError, "start . n - 1 = 199"),
    ],
)
def test_bad_arguments(kwargs, error, words):
    with pytest.raises(error, match=words):
        Discrete(**kwargs)


def test_attributes():
    space = Discrete(3, start=-1, dtype="i4")
    assert (space.n, space.start, space.shape) == (3, -1, ())
    assert type(space.n) is type(space.start) is np.int32
    assert space.is_np_flattenable


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8"])
def test_sample_covers_the_range(dtype):
    space = Discrete(5, start=3, dtype=dtype, seed=4)
    samples = [space.sample() for _ in range(200)]
    assert set(samples) == {3, 4, 5, 6, 7}
    assert {type(sample) for sample in samples} == {space.dtype.type}


def test_largest_space():
    space = Discrete(2**63 - 1, start=-5, seed=1)
    assert space.sample() in space
    assert 2**63 - 7 in space
    assert 2**63 - 6 not in space


def test_mask():
    space = Discrete(4, start=10, seed=1)
    mask = np.array([0, 1, 0, 1], np.int8)
    assert {int(space.sample(mask=mask)) for _ in range(50)} == {11, 13}
    assert space.sample(mask=np.zeros(4, np.int8)) == 10


def test_probability():
    space = Discrete(3, start=-1, dtype="i2", seed=1)
    counts = Counter(int(space.sample(probability=np.array([0.2, 0, 0.8]))) for _ in range(500))
    assert counts.keys() == {-1, 1}
    assert 350 < counts[1] < 450
    assert type(space.sample(probability=np.array([0.2, 0, 0.8]))) is np.int16


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"mask": np.ones(2, np.int8), "probability": np.ones(2)}, "only one of"),
        ({"mask": [1, 0]}, r"np.ndarray.*\[1, 0\]"),
        ({"mask": np.ones(2)}, "np.int8, got float64"),
        ({"mask": np.ones(3, np.int8)}, r"\(2,\), got \(3,\)"),
        ({"mask": np.array([1, 2], np.int8)}, "0 or 1"),
        ({"mask": np.array([1, -1], np.int8)}, "0 or 1"),
        ({"probability": np.ones(2, np.int8)}, "np.float64, got int8"),
        ({"probability": np.array([1.5, -0.5])}, "between 0 and 1"),
        ({"probability": np.array([0.5, 0.4])}, "sum of 0.9"),
    ],
)
def test_bad_masks(kwargs, words):
    with pytest.raises(AssertionError, match=words):
        Discrete(2).sample(**kwargs)


@pytest.mark.parametrize(
    ("value", "member"),
    [
        (3, True),
        (2, False),
        (8, False),
        (np.int8(7), True),
        (np.uint64(4), False),
        (np.array(4), True),
        (np.array([4]), False),
        (4.0, False),
        (np.float32(4), False),
        ("4", False),
        (None, False),
        (2**70, False),
    ],
)
def test_contains(value, member):
    assert Discrete(5, start=3).contains(value) is member


def test_bools_and_enums_are_ints():
    assert True in Discrete(2)
    assert Move.RIGHT in Discrete(2)
    assert np.bool_(True) not in Discrete(2)


def test_narrow_dtype_rejects_wide_integers():
    assert np.int64(1) not in Discrete(3, dtype=np.int8)
    assert 1 in Discrete(3, dtype=np.int8)


def test_repr_and_equality():
    assert repr(Discrete(3)) == "Discrete(3)"
    assert repr(Discrete(3, start=1, dtype="i4")) == "Discrete(3, start=1, dtype=int32)"
    assert Discrete(3) == Discrete(3, seed=9)
    assert all(
        Discrete(3) != s for s in (Discrete(4), Discrete(3, start=1), Discrete(3, dtype="i4"), 3)
    )


def test_legacy_state_has_no_start():
    space = Discrete(3)
    state = dict(space.__dict__)
    del state["start"]
    space.__setstate__(state)
    assert space.start == 0


def test_jsonable():
    space = Discrete(5, dtype="i4")
    assert space.to_jsonable([np.int32(3), 4]) == [3, 4]
    assert [type(x) for x in space.to_jsonable([np.int32(3)])] == [int]
    assert [type(x) for x in space.from_jsonable([3])] == [np.int32]
