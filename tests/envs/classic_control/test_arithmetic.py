"""The float32 arithmetic of kernels is NumPy's, bit for bit where NumPy's is always the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.envs.classic_control.arithmetic import clip, cos_float32, sin_float32, wrap_angle
from ludus.envs.single_precision import is_float32, narrow, round_to_float32
from tests.envs.classic_control.support import TRIGONOMETRY_ULP

NORMAL = st.floats(2.0**-126, 2.0**126) | st.floats(-(2.0**126), -(2.0**-126)) | st.just(0.0)


@given(NORMAL)
def test_rounding(x):
    assert round_to_float32(x) == float(np.float32(x))


@given(
    st.integers(2**23, 2**24 - 1), st.integers(-60, 60), st.sampled_from([-1, 0, 1]), st.booleans()
)
def test_rounding_at_and_beside_ties(mantissa, exponent, side, negative):
    tie = math.ldexp(mantissa + 0.5, exponent) * (-1.0 if negative else 1.0)
    x = tie if side == 0 else math.nextafter(tie, side * math.inf)
    assert round_to_float32(x) == float(np.float32(x))


def test_rounding_of_many_products():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300_000)).astype(np.float32)
    products = a.astype(np.float64) * b
    np.testing.assert_array_equal(round_to_float32(products), a * b)
    np.testing.assert_array_equal(round_to_float32(3.0 * a.astype(np.float64)), np.float32(3) * a)


def test_what_float32_holds():
    assert is_float32(0.5)
    assert is_float32(float(np.float32(0.1)))
    assert not is_float32(0.1)
    assert narrow(0.1, False) == 0.1
    assert narrow(0.1, True) == float(np.float32(0.1))
    assert math.isnan(round_to_float32(math.nan))


@pytest.mark.parametrize(("ours", "theirs"), [(cos_float32, np.cos), (sin_float32, np.sin)])
def test_trigonometry_in_float32(ours, theirs):
    angles = np.random.default_rng(1).uniform(-0.78, 0.78, 200_000).astype(np.float32)
    found = ours(angles.astype(np.float64))
    narrowed = found.astype(np.float32)
    np.testing.assert_array_equal(narrowed, found)
    np.testing.assert_array_max_ulp(narrowed, theirs(angles), maxulp=TRIGONOMETRY_ULP)


@given(st.floats(-100, 100))
def test_wrapped_angles(x):
    wrapped = wrap_angle(x)
    assert abs(wrapped) <= math.pi + 1e-12
    assert math.cos(wrapped) == pytest.approx(math.cos(x), abs=1e-12)
    assert math.sin(wrapped) == pytest.approx(math.sin(x), abs=1e-12)


def test_angles_within_half_a_turn_stay():
    for angle in (0.0, -3.0, math.pi, -math.pi):
        assert wrap_angle(angle) == angle
    above = math.nextafter(math.pi, 4.0)
    assert wrap_angle(above) == above - 2 * math.pi


def test_clip():
    assert [clip(x, -1.0, 2.0) for x in (-5.0, -1.0, 0.5, 2.0, 3.0)] == [-1.0, -1.0, 0.5, 2.0, 2.0]
    assert math.isnan(clip(math.nan, -1.0, 2.0))
