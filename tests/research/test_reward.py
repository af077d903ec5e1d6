"""Rewards: normalised, direction-aware, and adding up to the final score."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.research.task.reward import RewardTotals, Scale

numbers = st.floats(-1e6, 1e6)
gaps = st.floats(1e-2, 1e6)


@st.composite
def scales(draw):
    """A scale, and the scale of the negated scores, where lower is better."""
    baseline, up, down = draw(numbers), draw(gaps), draw(st.none() | gaps)
    floor = None if down is None else baseline - down
    higher = Scale(baseline + up, baseline, floor)
    lower = Scale(-baseline - up, -baseline, None if floor is None else -floor, "lower")
    return higher, lower


@given(scales(), numbers, numbers)
def test_the_scale(pair, score, other):
    higher, lower = pair
    assert higher.normalise(higher.baseline) == 0
    assert higher.normalise(higher.threshold) == 1
    assert -1 - 1e-3 <= higher.worst <= 0
    assert higher.normalise(score) >= higher.worst
    assert lower.normalise(-score) == higher.normalise(score)
    if score > other:
        assert higher.normalise(score) >= higher.normalise(other)


@given(scales(), st.lists(numbers), numbers)
def test_rewards_add_up_to_the_final_normalised_score(pair, validations, final):
    scale, ledger, total = pair[0], RewardTotals(), []
    for score in validations:
        reward, ledger = ledger.improved(scale.normalise(score))
        assert reward >= 0
        total.append(reward)
    best = max([0.0, *map(scale.normalise, validations)])
    assert math.fsum(total) == pytest.approx(best, rel=1e-9, abs=1e-9)
    reward, ledger = ledger.settled(scale.normalise(final))
    u = scale.normalise(final)
    assert math.fsum([*total, reward]) == pytest.approx(u, rel=1e-9, abs=1e-9 * max(1, best))
    assert ledger.given == pytest.approx(u, rel=1e-9, abs=1e-9 * max(1, best))


def test_known_values():
    scale = Scale(1.44, 1.0227, 0.0)
    assert scale.normalise(1.2) == pytest.approx(0.42487419)
    assert scale.normalise(-5) == scale.worst == pytest.approx(-1)
    time = Scale(8.0, 16.0, 32.0, "lower")
    assert [time.normalise(t) for t in (4, 8, 12, 16, 24, 32, 99)] == [1.5, 1, 0.5, 0, -1, -1, -1]
    assert time.least == 24
    assert time.counted("agent_fault", None) == 24
    near = Scale(8.0, 16.0, 20.0, "lower")
    assert (near.least, near.worst) == (20, -0.5)


def test_the_first_version_had_no_bound():
    scale = Scale(1.44, 1.0227, 0.0, version=1)
    assert scale.normalise(-5) == scale.worst == pytest.approx(-2.450755)
    time = Scale(8.0, 16.0, 32.0, "lower", version=1)
    assert [time.normalise(t) for t in (16, 24, 32, 99)] == [0, -1, -2, -2]
    assert time.least == 32
    with pytest.raises(ValueError, match="version is 3; expected 1 or 2"):
        Scale(1.0, version=3)


def test_a_scale_in_words():
    assert Scale(1.0, 0.5, -9.0).described == (
        "-1 or more: 0 is the baseline's score (0.5), 1 the threshold (1), -1 a fault"
    )
    assert Scale(1.0, 0.5).described.endswith("0 a fault")
    assert "1 is a score of 0.7 or less" in Scale(0.7, direction="lower").described


def test_without_a_floor_nothing_is_below_the_baseline():
    assert Scale(1.0, 0.5).normalise(0.1) == 0


@pytest.mark.parametrize(
    ("direction", "worse", "better"), [("higher", 0.6, 0.8), ("lower", 0.8, 0.6)]
)
def test_without_a_baseline_it_is_passed_or_not(direction, worse, better):
    scale = Scale(0.7, direction=direction)
    assert [scale.normalise(score) for score in (worse, 0.7, better)] == [0, 1, 1]


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_no_score(score):
    for scale in (Scale(1.0, 0.0), Scale(1.0)):
        with pytest.raises(ValueError, match="no score"):
            scale.normalise(score)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((math.inf,), "threshold is inf"),
        ((1.0, math.nan), "baseline is nan"),
        ((1.0, 1.0), "must be higher"),
        ((2.0, 1.0, 1.0, "lower"), "must be lower"),
        ((1.0, 0.0, 0.5), "floor"),
        ((0.0, 1.0, 0.5, "lower"), "floor"),
    ],
)
def test_scales_that_measure_nothing(fields, words):
    with pytest.raises(ValueError, match=words):
        Scale(*fields)


@pytest.mark.parametrize(
    ("scale", "raw", "u"),
    [
        (Scale(1.0, 0.5, 0.0), 0.0, -1.0),
        (Scale(6.0, 17.0, 32.0, "lower"), 28.0, -1.0),
        (Scale(6.0, 17.0, 32.0, "lower", version=1), 32.0, -15 / 11),
        (Scale(1.0, 0.5), 0.5, 0.0),
        (Scale(6.0, 17.0, None, "lower"), 17.0, 0.0),
        (Scale(1.0, None, 0.25), 0.25, 0.0),
        (Scale(1.0), None, 0.0),
    ],
)
def test_a_fault_counts_as_the_floor(scale, raw, u):
    """The floor, else the baseline; without both there is no score, and u is 0."""
    for score in (None, scale.threshold):  # a fault has no score, whatever somebody claims
        assert scale.counted("agent_fault", score) == raw
        assert scale.normalised("agent_fault", score) == pytest.approx(u)
    assert scale.worst == pytest.approx(u)
    assert scale.counted("infrastructure_fault", None) is None
    assert scale.normalised("infrastructure_fault", None) is None
    assert scale.normalised("scored", scale.threshold) == 1
