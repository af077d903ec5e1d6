from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ludus.bench.report.facts import MEASURES, collect
from ludus.bench.statistics.bootstrap import estimate, mean_estimates
from ludus.bench.statistics.normalise import Reference
from ludus.bench.statistics.scores import mean
from ludus.bench.statistics.summary import summarise

from .samples import REFERENCES, SKILL, fault, result, usual


def test_means_at_once_equal_means_one_by_one():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=size) for size in (3, 10, 1, 0, 10, 3)]
    sizes = [group.size for group in groups]
    found = mean_estimates(groups, sizes, resamples=500, confidence=0.95)
    assert found[3] is None
    for group, one in zip(groups, found, strict=True):
        if one is not None:
            alone = estimate(mean, group, resamples=500)
            assert one.n == alone.n == len(group)
            assert (one.value, *(one.interval or ())) == pytest.approx(
                (alone.value, *(alone.interval or ())), rel=1e-12
            )


def test_figures_are_those_of_the_statistics():
    results = [one for one in usual() if one.verified != "failed"]
    scales = {env: Reference(*pair) for env, pair in REFERENCES.items()}
    facts = collect(results, REFERENCES)
    for agent, summary in summarise(results, references=scales).items():
        told = (summary.iqm, summary.mean, summary.median, summary.optimality_gap)
        for measure, expected in zip(MEASURES, told, strict=True):
            found = facts.figures[agent][measure]
            assert (found.value, *found.interval) == pytest.approx(
                (expected.value, *expected.interval)
            )
        for task in summary.tasks:
            cell = facts.cells[task.env, agent]
            assert cell.mean.value == pytest.approx(task.mean.value)
            assert cell.normalised == pytest.approx(task.normalised.value)
            assert len(cell.scores) == task.counts.used


def test_agents_stand_in_the_order_of_their_iqm():
    facts = collect(usual(), REFERENCES)
    values = [facts.figures[agent]["IQM"].value for agent in facts.agents]
    assert sorted(facts.agents) == sorted(SKILL)
    assert values == sorted(values, reverse=True)
    assert [facts.style(agent) for agent in facts.agents] == [0, 1, 2, 3, 4]


def test_without_references_agents_stand_in_the_order_of_their_mean_rank():
    results = [
        result(agent, env, seed, score=score)
        for env, scores in {"A-v0": (1, 2, 3), "B-v0": (100, 300, 200)}.items()
        for agent, score in zip("xyz", scores, strict=True)
        for seed in range(2)
    ]
    assert collect(results).agents == ("y", "z", "x")
    assert collect(results, lower=["A-v0", "B-v0"]).agents == ("x", "y", "z")
    assert not collect(results).figures


def test_an_agent_without_a_run_on_an_environment_has_no_figures_and_comes_last():
    results = [result("a", "A-v0"), result("b", "A-v0", score=900.0), result("a", "B-v0")]
    facts = collect(results, {"A-v0": (0, 1000), "B-v0": (0, 1000)})
    assert facts.agents == ("a", "b")
    assert facts.ranked == ("a",)


def test_failed_records_count_nowhere_and_faults_as_the_worst():
    results = [
        result(score=400.0),
        result(seed=1, score=10.0),
        result(seed=2, score=500.0, verified="failed"),
        fault("agent_fault", "x", seed=3),
        fault("infrastructure_fault", "y", seed=4),
    ]
    cell = collect(results, {"CartPole-v1": (20.0, 500.0)}).cells["CartPole-v1", "ppo"]
    assert sorted(cell.scores) == [10.0, 10.0, 400.0]
    assert (cell.tally.runs, cell.tally.scored, cell.tally.failed) == (5, 3, 1)


def test_one_run_has_no_interval():
    facts = collect([result()], REFERENCES)
    assert all(figure.interval is None for figure in facts.figures["ppo"].values())
    assert facts.cells["CartPole-v1", "ppo"].mean.interval is None


@pytest.mark.parametrize(
    "given",
    [
        (500.0, 20.0),
        Reference(20.0, 500.0, False),
        SimpleNamespace(min=500.0, max=20.0, source="somebody"),
    ],
)
def test_references_may_fall(given):
    facts = collect([result(score=500.0), result(seed=1, score=20.0)], {"CartPole-v1": given})
    assert facts.pools["ppo"].values.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "given", [(1.0, 1.0), (0.0, float("nan")), (1.0,), (0.0, 1e-200), (0, 1e200)]
)
def test_a_reference_that_is_no_scale_is_refused(given):
    with pytest.raises(ValueError, match=r"[Rr]eference"):
        collect([result()], {"CartPole-v1": given})


def test_scores_of_any_size_give_finite_figures():
    results = [result(seed=seed, score=1.7e308) for seed in range(3)]
    facts = collect([*results, result("b", score=-1.7e308)], {"CartPole-v1": (0.0, 1e-90)})
    values = [figure.value for found in facts.figures.values() for figure in found.values()]
    assert np.isfinite(values).all()
