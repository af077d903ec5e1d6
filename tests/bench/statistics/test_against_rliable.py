"""Point estimates equal rliable's; intervals agree within Monte-Carlo error."""

from __future__ import annotations

import importlib.util
import sys
import types
import warnings

import numpy as np
import pytest

from ludus.bench.statistics import (
    bootstrap,
    estimate,
    iqm,
    mean,
    median,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    profile_values,
)

SHAPES = [(1, 1), (1, 7), (2, 3), (3, 5), (5, 1), (10, 26), (7, 4)]


@pytest.fixture(scope="module")
def rliable():
    # rliable needs arch.bootstrap only, and arch 7 as a whole does not import beside pandas 3
    # (its models use a decorator that pandas changed). So its __init__ is passed over.
    found = importlib.util.find_spec("arch")
    if found is None or importlib.util.find_spec("rliable") is None:
        pytest.skip("rliable is not installed")
    package = types.ModuleType("arch")
    package.__path__ = list(found.submodule_search_locations)
    sys.modules["arch"] = package
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from rliable import library, metrics
    finally:
        del sys.modules["arch"]
    return library, metrics


def scores_of(shape, seed=0, ties=False):
    rng = np.random.default_rng([seed, *shape])
    scores = rng.normal(0.6, 0.5, size=shape) * rng.uniform(0.5, 2, size=shape[1])
    return np.round(scores, 1) if ties else scores


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
class TestPoints:
    def test_aggregates(self, rliable, shape, ties):
        _, metrics = rliable
        scores = scores_of(shape, ties=ties)
        for ours, theirs in (
            (mean, metrics.aggregate_mean),
            (median, metrics.aggregate_median),
            (iqm, metrics.aggregate_iqm),
            (optimality_gap, metrics.aggregate_optimality_gap),
        ):
            assert float(ours(scores)) == pytest.approx(theirs(scores), rel=0, abs=1e-9)

    def test_optimality_gap_with_a_target(self, rliable, shape, ties):
        _, metrics = rliable
        scores = scores_of(shape, ties=ties)
        theirs = metrics.aggregate_optimality_gap(scores, gamma=0.5)
        assert float(optimality_gap(scores, 0.5)) == pytest.approx(theirs, rel=0, abs=1e-9)

    def test_probability_of_improvement(self, rliable, shape, ties):
        _, metrics = rliable
        x, y = scores_of(shape, ties=ties), scores_of((shape[0] + 1, shape[1]), 1, ties)
        ours = float(probability_of_improvement(x, y))
        theirs = metrics.probability_of_improvement(x, y)
        assert ours == pytest.approx(theirs, rel=0, abs=1e-9)

    def test_profiles(self, rliable, shape, ties):
        library, _ = rliable
        scores = scores_of(shape, ties=ties)
        taus = np.round(np.linspace(-1, 3, 81), 2)  # with ties, some scores lie on a threshold
        runs = library.score_distributions(scores, taus)
        tasks = library.average_score_distributions(scores, taus)
        np.testing.assert_allclose(profile_values(scores, taus), runs, rtol=0, atol=1e-9)
        np.testing.assert_allclose(profile_values(scores, taus, "tasks"), tasks, rtol=0, atol=1e-9)


class TestIntervals:
    @pytest.mark.parametrize("name", ["mean", "median", "iqm", "optimality_gap"])
    def test_aggregates(self, rliable, name):
        library, metrics = rliable
        ours = {"mean": mean, "median": median, "iqm": iqm, "optimality_gap": optimality_gap}[name]
        theirs = getattr(metrics, f"aggregate_{name}")
        scores = scores_of((10, 26))
        np.random.seed(0)
        _, intervals = library.get_interval_estimates(
            {"x": scores}, lambda x: np.array([theirs(x)]), reps=4000
        )
        found = estimate(ours, scores, resamples=10_000)
        # A 2.5 % quantile of 4,000 and one of 10,000 normal draws differ by 0.05 deviations.
        spread = bootstrap(ours, scores, resamples=10_000).std()
        assert found.interval == pytest.approx(intervals["x"][:, 0], rel=0, abs=0.25 * spread)

    def test_probability_of_improvement(self, rliable):
        library, metrics = rliable
        x, y = scores_of((8, 3)), scores_of((6, 3), 1)
        np.random.seed(0)
        _, intervals = library.get_interval_estimates(
            {"x": [x, y]},
            lambda a, b: np.array([metrics.probability_of_improvement(a, b)]),
            reps=1000,
        )
        found = estimate(probability_of_improvement, x, y, resamples=10_000)
        spread = bootstrap(probability_of_improvement, x, y, resamples=10_000).std()
        assert found.interval == pytest.approx(intervals["x"][:, 0], rel=0, abs=0.4 * spread)

    @pytest.mark.parametrize("kind", ["runs", "tasks"])
    def test_profiles(self, rliable, kind):
        library, _ = rliable
        scores, taus = scores_of((10, 26)), np.linspace(-0.5, 2, 6)
        np.random.seed(0)
        _, bands = library.create_performance_profile(
            {"x": scores}, taus, use_score_distribution=kind == "runs", reps=2000
        )
        found = performance_profile(scores, taus, kind=kind, resamples=10_000)
        step = 2.5 / 260 if kind == "runs" else 1.5 / 26  # the shares are multiples of these
        np.testing.assert_allclose(found.low, bands["x"][0], rtol=0, atol=step)
        np.testing.assert_allclose(found.high, bands["x"][1], rtol=0, atol=step)
