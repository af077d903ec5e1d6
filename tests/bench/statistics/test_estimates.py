from __future__ import annotations

import numpy as np
import pytest

from ludus.bench.statistics import (
    Estimate,
    Reference,
    as_scores,
    bootstrap,
    estimate,
    iqm,
    mean,
    median,
    normalise,
    normalise_tasks,
    number,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    profile_values,
)


class TestText:
    def test_with_an_interval(self):
        assert str(Estimate(0.5, 0.25, 0.75, 10)) == "0.5 [0.25, 0.75] (n = 10)"

    def test_without(self):
        assert str(Estimate(0.5, None, None, 1)) == "0.5 (n = 1, no interval)"
        assert str(estimate(mean, [[1.0, 2.0]])) == "1.5 (n = 2, no interval)"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (None, "—"),
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-0.5, "-0.5"),
            (3.14159, "3.142"),
            (0.00012345, "0.0001234"),
            (12345.678, "12346"),
            (100.0, "100"),
            (9.99999, "10"),
            (1e12, "1.000e+12"),
            (1e-7, "1.000e-07"),
            (float("inf"), "inf"),
        ],
    )
    def test_numbers(self, value, text):
        assert number(value) == text

    @pytest.mark.parametrize(
        ("wrong", "match"),
        [
            ((1.0, 0.5, 1.5, 1), "One run has no interval"),
            ((1.0, 0.5, None, 5), "two ends"),
            ((1.0, None, None, 0), "at least one run"),
            ((1.0, 0.0, 2.0, 5, 1.0), "between 0 and 1"),
        ],
    )
    def test_no_interval_that_is_none(self, wrong, match):
        with pytest.raises(ValueError, match=match):
            Estimate(*wrong)


class TestBootstrap:
    SCORES = np.random.default_rng(0).normal(size=(10, 4))

    def test_is_repeatable(self):
        assert estimate(iqm, self.SCORES, seed=3) == estimate(iqm, self.SCORES, seed=3)
        assert estimate(iqm, self.SCORES, seed=3) != estimate(iqm, self.SCORES, seed=4)

    def test_takes_a_generator(self):
        rng = np.random.default_rng(3)
        assert estimate(iqm, self.SCORES, seed=rng) == estimate(iqm, self.SCORES, seed=3)
        assert estimate(iqm, self.SCORES, seed=rng) != estimate(iqm, self.SCORES, seed=3)

    def test_draws_within_tasks(self):
        scores = {"low": [0.0, 1.0], "high": [100.0, 101.0, 102.0]}
        draws = bootstrap(lambda pool: pool.values, scores, resamples=500)
        assert draws.shape == (500, 5)
        assert set(np.unique(draws[:, :3])) == {100.0, 101.0, 102.0}  # "high" sorts first
        assert set(np.unique(draws[:, 3:])) == {0.0, 1.0}

    def test_draws_are_even(self):
        draws = bootstrap(lambda pool: pool.values, np.arange(5.0), resamples=20_000)
        shares = np.bincount(draws.astype(int).reshape(-1)) / draws.size
        np.testing.assert_allclose(shares, 0.2, atol=0.006)  # 4.7 deviations

    def test_many_values_go_in_blocks(self):
        wide = np.zeros((600, 1000))
        wide[0] = 600.0
        draws = bootstrap(mean, wide, resamples=4)
        assert draws.shape == (4,)
        assert draws == pytest.approx(1.0, abs=0.2)

    def test_agents_are_drawn_independently(self):
        runs = np.arange(10.0)
        draws = bootstrap(lambda x, y: mean(x) - mean(y), runs, runs, resamples=100)
        assert draws.std() > 0.5

    def test_covers_the_truth_as_often_as_it_says(self):
        rng = np.random.default_rng(1)
        hits = 0
        for trial in range(300):
            found = estimate(mean, rng.normal(size=(20, 5)), resamples=400, seed=trial)
            hits += found.low <= 0 <= found.high
        # Percentile intervals of 20 runs are a little narrow: 93 % rather than 95 %.
        assert 0.88 <= hits / 300 <= 0.98

    def test_n_counts_all_runs(self):
        assert estimate(probability_of_improvement, [1.0, 2.0], [1.0, 2.0, 3.0]).n == 5

    def test_bad_calls(self):
        with pytest.raises(ValueError, match="At least one resample"):
            bootstrap(mean, [1.0, 2.0], resamples=0)
        for runs in ([1.0, 2.0], [1.0]):
            with pytest.raises(ValueError, match="between 0 and 1"):
                estimate(mean, runs, confidence=1.0)


class TestRaggedScores:
    def test_every_task_counts_the_same(self):
        scores = {"a": [0.0], "b": [1.0, 1.0, 1.0]}
        assert mean(scores) == 0.5
        assert optimality_gap(scores) == 0.5
        np.testing.assert_allclose(profile_values(scores, [0.0, 0.5]), [0.5, 0.5])

    def test_iqm_by_hand(self):
        # Weights: 1/4 for 0 and 8, 1/8 for 1 to 4. Of six runs one is dropped at either end, that
        # is 1/6 of the weight: 0 and 8 keep 1/12 each. (8/12 + 10/8) / (2/12 + 4/8) = 2.875.
        assert float(iqm({"a": [0.0, 8.0], "b": [1.0, 2.0, 3.0, 4.0]})) == pytest.approx(2.875)

    def test_iqm_does_not_see_doubled_runs(self):
        a, b = [0.0, 3.0, 4.0, 9.0], [1.0, 2.0, 7.0, 8.0]
        assert float(iqm({"a": a, "b": b + b})) == pytest.approx(float(iqm({"a": a, "b": b})))

    def test_tasks_have_to_be_the_same(self):
        with pytest.raises(ValueError, match="same tasks"):
            probability_of_improvement({"a": [1.0]}, {"b": [1.0]})
        with pytest.raises(ValueError, match="same tasks"):
            probability_of_improvement(np.ones((2, 2)), np.ones((2, 3)))

    @pytest.mark.parametrize(
        ("scores", "match"),
        [
            ({}, "without a single run"),
            ({"a": []}, r"leave out \['a'\]"),
            ([], "at least one"),
            (np.ones((2, 2, 2)), "shape"),
            (3.0, "matrix"),
            ([[1.0, float("nan")]], "finite"),
            ({"a": [float("inf")]}, "finite"),
        ],
    )
    def test_what_is_no_score_is_refused(self, scores, match):
        with pytest.raises(ValueError, match=match):
            as_scores(scores)


class TestProfiles:
    def test_by_hand(self):
        scores = np.array([[0.0, 1.0], [1.0, 3.0]])  # task means 0.5 and 2
        runs = profile_values(scores, [-1.0, 0.0, 0.5, 1.0, 3.0])
        assert runs.tolist() == [1.0, 0.75, 0.75, 0.25, 0.0]  # above, not at
        assert profile_values(scores, [0.0, 0.5, 2.0], "tasks").tolist() == [1.0, 0.5, 0.0]

    def test_states_what_it_is(self):
        profile = performance_profile(np.ones((3, 2)), [0.0, 1.0], kind="tasks", resamples=10)
        assert (profile.n, profile.kind, profile.confidence) == (6, "tasks", 0.95)
        assert profile.low.tolist() == profile.high.tolist() == [1.0, 0.0]

    @pytest.mark.parametrize("taus", [[], [1.0, 0.0], [0.0, 0.0], [[0.0]], [0.0, float("nan")]])
    def test_thresholds_ascend(self, taus):
        with pytest.raises(ValueError, match="ascending"):
            profile_values([1.0], taus)

    def test_unknown_kind(self):
        with pytest.raises(ValueError, match="'runs' or 'tasks'"):
            profile_values([1.0], [0.0], "agents")


class TestNormalising:
    def test_keeps_what_it_was_made_of(self):
        assert str(normalise(261.0, Reference(22.0, 500.0))) == "0.5 (261 on 22 … 500)"
        loss = Reference.between(4.0, 1.0, "a baseline; the best known")
        assert str(normalise(1.0, loss)) == "1 (1 on 1 … 4, lower is better)"
        assert loss.source == "a baseline; the best known"

    def test_needs_every_reference(self):
        with pytest.raises(ValueError, match="known for b"):
            normalise_tasks({"a": [1.0], "b": [1.0]}, {"a": Reference(0.0, 1.0)})

    @pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (0.0, float("inf"))])
    def test_ends_are_in_order(self, ends):
        with pytest.raises(ValueError, match="minimum < maximum"):
            Reference(*ends)


def test_median_is_of_task_means():
    assert median(np.array([[0.0, 1.0, 9.0], [2.0, 3.0, 11.0]])) == 2.0
