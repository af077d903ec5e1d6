"""What holds for all scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ludus.bench.statistics import (
    Reference,
    as_scores,
    bootstrap,
    estimate,
    iqm,
    mean,
    median,
    normalise,
    normalise_tasks,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    profile_values,
)

# Whole numbers, so that sums are exact and ties are frequent.
VALUES = st.integers(-100, 100).map(float)
MATRICES = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=VALUES)
RAGGED = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(VALUES, min_size=1, max_size=7), min_size=1
)
EITHER = MATRICES | RAGGED
AGGREGATES = pytest.mark.parametrize("figure", [mean, median, iqm])
TAUS = np.arange(-120.0, 121.0, 7.5)
close = pytest.approx


def given(**strategies):
    """Forty examples of each, however slow the machine is."""
    return lambda test: settings(max_examples=40, deadline=None)(given_any(**strategies)(test))


def mapped(scores, change):
    if isinstance(scores, dict):
        return {task: [change(run) for run in runs] for task, runs in scores.items()}
    return change(scores)


@AGGREGATES
class TestAggregates:
    @given(scores=EITHER)
    def test_between_lowest_and_highest(self, figure, scores):
        values = as_scores(scores).values
        assert values.min() - 1e-9 <= figure(scores) <= values.max() + 1e-9

    @given(scores=EITHER, scale=st.integers(1, 9), shift=VALUES)
    def test_goes_along_with_rising_affine_maps(self, figure, scores, scale, shift):
        changed = mapped(scores, lambda run: scale * run + shift)
        assert float(figure(changed)) == close(scale * float(figure(scores)) + shift, abs=1e-9)

    @given(scores=EITHER)
    def test_turns_over_with_the_sign(self, figure, scores):
        assert float(figure(mapped(scores, lambda run: -run))) == close(-float(figure(scores)))

    @given(scores=RAGGED, data=st.data())
    def test_order_of_runs_and_tasks_is_nothing(self, figure, scores, data):
        tasks = data.draw(st.permutations(list(scores)))
        shuffled = {task: data.draw(st.permutations(scores[task])) for task in tasks}
        assert float(figure(shuffled)) == close(float(figure(scores)))

    @given(scores=MATRICES, data=st.data())
    def test_never_falls_when_a_run_gets_better(self, figure, scores, data):
        run = data.draw(st.integers(0, scores.shape[0] - 1))
        task = data.draw(st.integers(0, scores.shape[1] - 1))
        better = scores.copy()
        better[run, task] += data.draw(st.integers(1, 200))
        assert figure(better) >= figure(scores) - 1e-9

    @given(scores=MATRICES)
    def test_a_matrix_is_a_mapping_of_columns(self, figure, scores):
        columns = {f"task {index}": scores[:, index] for index in range(scores.shape[1])}
        assert float(figure(columns)) == close(float(figure(scores)))

    @given(scores=EITHER)
    def test_works_on_resamples_as_on_each_alone(self, figure, scores):
        pool = as_scores(scores)
        draws = bootstrap(figure, pool, resamples=3, seed=1)
        assert draws.shape == (3,)
        assert draws.min() >= pool.values.min() - 1e-9


@given(scores=EITHER)
def test_gap_and_mean_below_the_target_add_up(scores):
    assert float(optimality_gap(scores, 1000.0)) == close(1000 - float(mean(scores)))
    assert optimality_gap(scores, 5.0) >= min(0.0, 5.0 - as_scores(scores).values.max())
    assert optimality_gap(scores, -1000.0) == 0


class TestProbabilityOfImprovement:
    @given(x=RAGGED, data=st.data())
    def test_of_each_over_the_other_adds_up_to_one(self, x, data):
        y = {task: data.draw(st.lists(VALUES, min_size=1, max_size=5)) for task in x}
        there, back = probability_of_improvement(x, y), probability_of_improvement(y, x)
        assert float(there + back) == close(1.0)
        assert 0 <= there <= 1

    @given(x=EITHER)
    def test_over_itself_is_a_half(self, x):
        assert float(probability_of_improvement(x, x)) == close(0.5)

    @given(x=EITHER)
    def test_over_something_always_worse_is_one(self, x):
        worse = mapped(x, lambda run: run - 1000)
        assert probability_of_improvement(x, worse) == 1
        assert probability_of_improvement(worse, x) == 0

    @given(x=EITHER)
    def test_knows_order_only(self, x):
        y = mapped(x, lambda run: 7 - run)
        cubed = (mapped(scores, lambda run: run**3) for scores in (x, y))
        assert probability_of_improvement(*cubed) == probability_of_improvement(x, y)


class TestProfiles:
    @given(scores=EITHER, kind=st.sampled_from(["runs", "tasks"]))
    def test_fall_from_one_to_nothing(self, scores, kind):
        shares = profile_values(scores, TAUS, kind)
        assert (np.diff(shares) <= 1e-12).all()
        assert shares[0] == close(1.0)
        assert shares.max() <= 1
        assert shares[-1] == 0

    @given(scores=RAGGED)
    def test_count_every_task_the_same(self, scores):
        alone = [profile_values(np.array(runs), TAUS) for runs in scores.values()]
        np.testing.assert_allclose(profile_values(scores, TAUS), np.mean(alone, axis=0), atol=1e-12)

    @given(scores=MATRICES)
    def test_area_is_the_mean_above_the_start(self, scores):
        taus = np.arange(-100.0, 101.0)  # every score is a threshold, so the sum is exact
        area = profile_values(scores, taus).sum()
        assert area == close(float(mean(scores)) + 100)

    @given(scores=MATRICES.filter(lambda scores: len(scores) > 1))
    def test_bands_hold_shares(self, scores):
        profile = performance_profile(scores, TAUS, resamples=50)
        assert ((profile.low >= 0) & (profile.low <= profile.high) & (profile.high <= 1)).all()


class TestIntervals:
    @given(scores=MATRICES.filter(lambda scores: len(scores) > 1), seed=st.integers(0, 99))
    def test_lie_within_the_scores_and_widen_with_confidence(self, scores, seed):
        narrow, wide = (
            estimate(iqm, scores, confidence=share, resamples=100, seed=seed)
            for share in (0.8, 0.95)
        )
        assert wide.low <= narrow.low <= narrow.high <= wide.high
        assert scores.min() - 1e-9 <= wide.low
        assert wide.high <= scores.max() + 1e-9

    @given(value=VALUES, shape=array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=5))
    def test_equal_runs_leave_no_doubt(self, value, shape):
        found = estimate(mean, np.full(shape, value), resamples=20)
        assert (found.low, found.high) == (found.value, found.value) == (value, value)

    @given(scores=RAGGED.filter(lambda scores: any(len(runs) == 1 for runs in scores.values())))
    def test_are_missing_where_a_task_has_one_run(self, scores):
        assert estimate(iqm, scores).interval is None
        assert performance_profile(scores, TAUS).low is None


class TestNormalising:
    @given(score=VALUES, low=VALUES, span=st.integers(1, 50), higher=st.booleans())
    def test_puts_the_ends_on_zero_and_one(self, score, low, span, higher):
        reference = Reference(low, low + span, higher)
        ends = [float(reference.scale(end)) for end in (low, low + span)]
        assert ends == ([0, 1] if higher else [1, 0])
        kept = normalise(score, reference)
        assert (kept.score, kept.reference) == (score, reference)
        assert float(reference.scale(reference.worst)) == 0

    @given(scores=RAGGED)
    def test_is_undone_by_its_reference(self, scores):
        references = {task: Reference(-10.0, 30.0) for task in scores}
        normalised = normalise_tasks(scores, references)
        np.testing.assert_allclose(normalised.values * 40 - 10, as_scores(scores).values)
