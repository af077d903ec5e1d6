from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

from ludus.errors import Error
from ludus.spaces import Box, SpaceRangeError, SpaceTypeError, SpaceValueError

INF = np.inf


@pytest.mark.parametrize(
    ("args", "shape"),
    [
        ((0, 1), (1,)),
        ((0.0, np.float32(1)), (1,)),
        ((0, 1, ()), ()),
        ((0, 1, [2, np.int64(3)]), (2, 3)),
        ((np.zeros((2, 1), np.float32), 1), (2, 1)),
        ((0, np.ones(3, np.float32)), (3,)),
        ((0, 1, (0,)), (0,)),
    ],
)
def test_shape(args, shape):
    box = Box(*args)
    assert box.shape == box.low.shape == box.high.shape == shape
    assert all(type(length) is int for length in box.shape)
    sample = box.sample()
    assert type(sample) is np.ndarray
    assert sample in box


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"dtype": None}, SpaceValueError, "dtype.*None"),
        ({"dtype": complex}, SpaceValueError, "dtype.*complex128"),
        ({"dtype": "nonsense"}, TypeError, "nonsense"),
        ({"shape": 3}, SpaceTypeError, "shape.*3"),
        ({"shape": (2, None)}, SpaceTypeError, "shape.*NoneType"),
        ({"shape": (-2,)}, SpaceValueError, "negative"),
        ({"low": [0]}, SpaceValueError, "list"),
        ({"low": "0", "shape": (1,)}, SpaceValueError, "low.*'0'"),
        ({"low": True, "shape": (1,)}, SpaceValueError, "low.*True"),
        ({"low": np.array(["a"])}, SpaceValueError, "low.*<U1"),
        ({"low": np.nan}, SpaceValueError, "low.*nan"),
        ({"high": np.array([1, np.nan])}, SpaceValueError, "high.*nan"),
        ({"low": 2}, SpaceValueError, "low.*above high"),
        ({"low": INF, "high": -INF}, SpaceValueError, "low.*above high"),
        ({"low": np.zeros(2, "f"), "high": np.ones(3, "f")}, SpaceValueError, r"\(2,\).*\(3,\)"),
        ({"low": np.zeros(2, "f"), "shape": (3,)}, SpaceValueError, r"low.*\(2,\).*\(3,\)"),
        ({"high": INF, "dtype": "u1"}, SpaceValueError, "unsigned.*high=inf"),
        ({"low": -INF, "dtype": bool}, SpaceValueError, "low=-inf"),
        ({"low": np.array([-INF]), "dtype": "u1"}, SpaceValueError, "low"),
        ({"high": 256, "dtype": "u1"}, SpaceRangeError, "high=256.*0 to 255"),
        ({"low": -1e39}, SpaceRangeError, "low=-1e.39"),
        ({"high": np.array([300]), "dtype": "i1"}, SpaceRangeError, "-128 to 127"),
        ({"high": np.array([INF, 1e300])}, SpaceRangeError, "float32"),
        ({"low": INF, "high": INF, "dtype": "i4"}, SpaceRangeError, "low=inf"),
        ({"high": 2**70, "dtype": "i8"}, SpaceRangeError, "high="),
        ({"high": 2, "dtype": bool}, SpaceRangeError, "0 to 1"),
    ],
)
def test_bad_arguments(kwargs, error, words):
    with pytest.raises(error, match=words):
        Box(**{"low": 0, "high": 1, **kwargs})


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u4", "u8", "?"])
@pytest.mark.parametrize("given", ["f2", "f4", "f8", "i1", "i8", "u1", "u8", "?"])
def test_dtype_of_the_bounds_does_not_matter(dtype, given):
    zero, one = np.zeros(2, given), np.ones(2, given)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "WARN: Box .*precision lowered")
        boxes = [Box(zero, one, dtype=dtype)]
    if given != "?":
        boxes.append(Box(zero[0], one[0], (2,), dtype=dtype))
    for box in boxes:
        assert box == Box(0, 1, (2,), dtype)
        assert box.low.dtype == box.high.dtype == np.dtype(dtype)


def test_bounds_are_copied_and_not_written_to():
    low = np.array([-INF, 0.0])
    box = Box(low, 5, dtype=np.int32)
    assert low[0] == -INF
    low[1] = 3
    assert box.low.tolist() == [np.iinfo(np.int32).min, 0]


def test_infinite_integer_bounds_are_exact():
    box = Box(np.array([-INF]), np.array([INF]), dtype=np.int64)
    assert box.low[0] == np.iinfo(np.int64).min
    assert box.high[0] == np.iinfo(np.int64).max
    assert not box.is_bounded("below")
    assert not box.is_bounded("above")


@pytest.mark.parametrize(
    ("low", "high", "below", "above"),
    [(0, 1, True, True), (-INF, 1, False, True), (0, INF, True, False), (-INF, INF, False, False)],
)
def test_boundedness(low, high, below, above):
    box = Box(low, high, (2,))
    assert box.is_bounded("below") is below
    assert box.is_bounded("above") is above
    assert box.is_bounded() is (below and above)
    assert box.bounded_below.tolist() == [below] * 2
    with pytest.raises(SpaceValueError, match="sideways"):
        box.is_bounded("sideways")


def test_precision_warning():
    with pytest.warns(UserWarning, match="low's precision lowered by casting to float32"):
        Box(np.zeros(2), 1)
    with pytest.warns(UserWarning, match="high's precision lowered"):
        Box(0, np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Box(np.zeros(2, np.float32), 1, dtype=np.float64)
        Box(np.zeros(2), 1, dtype=np.int8)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u4", "u8", "?"])
def test_samples_are_members(dtype):
    box = Box(0, 1, (50,), dtype, seed=1)
    sample = box.sample()
    assert sample.dtype == box.dtype
    assert sample in box
    assert len(np.unique(sample)) > 1


def test_forms_of_intervals():
    low = np.array([-INF, -INF, 3, -2], np.float32)
    high = np.array([INF, -7, INF, 2], np.float32)
    box = Box(low, high, seed=5)
    samples = np.array([box.sample() for _ in range(500)])
    assert samples[:, 0].min() < -1 < 1 < samples[:, 0].max()
    assert samples[:, 1].max() <= -7
    assert samples[:, 2].min() >= 3
    assert np.abs(samples[:, 3]).max() <= 2
    np.testing.assert_allclose(samples.mean(axis=0), [0, -8, 4, 0], atol=0.25)


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (np.iinfo("i8").min, np.iinfo("i8").max, "i8"),
        (-INF, INF, "i8"),
        (0, np.iinfo("u8").max, "u8"),
        (2**63, np.iinfo("u8").max, "u8"),
        (np.iinfo("i4").min, np.iinfo("i4").max, "i4"),
        (100, INF, "i1"),
        (-INF, np.iinfo("i8").min + 1, "i8"),
        (np.iinfo("i8").max - 1, np.iinfo("i8").max, "i8"),
        (np.finfo("f8").min, np.finfo("f8").max, "f8"),
    ],
)
def test_extreme_bounds(low, high, dtype):
    box = Box(low, high, (200,), dtype, seed=2)
    sample = box.sample()
    assert sample in box
    half_span = float(high) / 2 - float(low) / 2
    if 1 < half_span < INF:
        assert np.ptp(sample.astype(float) / 2) > half_span / 2


def test_sample_follows_bounds_edited_in_place():
    box = Box(0, 1, (3,), seed=1)
    box.sample()
    box.low[:] = 5
    box.high[:] = 6
    assert box.sample() in box
    box.low = np.full(3, 8, np.float32)
    box.high = np.full(3, 9, np.float32)
    assert box.sample() in box


@pytest.mark.parametrize("name", ["mask", "probability"])
def test_no_masks(name):
    with pytest.raises(Error, match=f"{name}=3"):
        Box(0, 1).sample(**{name: 3})


@pytest.mark.parametrize(
    ("value", "member"),
    [
        (np.array([0, 1], np.float32), True),
        (np.array([0, 1], np.float16), True),
        (np.array([0, 1], np.int8), True),
        (np.array([True, False]), True),
        (np.array([0, 1], np.float64), False),
        (np.array([0, 1.001], np.float32), False),
        (np.array([-0.001, 1], np.float32), False),
        (np.array([0, np.nan], np.float32), False),
        (np.array([0], np.float32), False),
        (np.array([[0, 1]], np.float32), False),
        (np.array([0, None]), False),
    ],
)
def test_contains(value, member):
    assert Box(0, 1, (2,)).contains(value) is member


@pytest.mark.parametrize(
    ("value", "member"),
    [
        ([0, 1], True),
        ((0.5, 0.5), True),
        ([0, 2], False),
        ("ab", False),
        (None, False),
        ([[], 1], False),
    ],
)
def test_contains_casts_with_a_warning(value, member):
    with pytest.warns(UserWarning, match="Casting input x to numpy array"):
        assert Box(0, 1, (2,)).contains(value) is member


def test_equality():
    box = Box(0, 1, (2,))
    assert box == Box(np.zeros(2, "f"), np.ones(2, "f"))
    different = [Box(0, 1, (3,)), Box(-1, 1, (2,)), Box(0, 2, (2,)), Box(0, 1, (2,), "f8"), "box"]
    assert all(box != other for other in different)
    assert Box(-INF, INF) == Box(-INF, INF)


def test_repr():
    assert repr(Box(-1, 2, (3, 4))) == "Box(-1.0, 2.0, (3, 4), float32)"
    assert repr(Box(np.array([0, 1]), 2, dtype=np.int8)) == "Box([0 1], 2, (2,), int8)"
    assert repr(Box(0, 1, (0,))) == "Box([], [], (0,), float32)"


def test_jsonable():
    box = Box(0, 1, (2,), np.float64)
    samples = [box.sample(), box.sample()]
    plain = box.to_jsonable(samples)
    assert plain == [sample.tolist() for sample in samples]
    np.testing.assert_array_equal(box.from_jsonable(plain), samples)


def test_pickle_leaves_the_plan_out():
    box = Box(0, 1, (2,), seed=1)
    box.sample()
    assert "_plan" not in pickle.loads(pickle.dumps(box)).__dict__


def test_legacy_state():
    box = Box(-1, 1, ())
    state = box.__getstate__() | {"low": np.zeros(5, "f"), "high": np.ones(5, "f"), "_shape": (5,)}
    del state["low_repr"], state["high_repr"], box.low_repr, box.high_repr
    box.__setstate__(state)
    assert (box.low_repr, box.high_repr) == ("0.0", "1.0")
