"""pass@k and pass^k, against the definition: what share of subsets of runs succeeds."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ludus.bench.report.write import build_document
from ludus.bench.statistics import Reference, pass_at_k, pass_every_k, passing
from ludus.bench.statistics.passing import is_success, usual_ks
from tests.bench.some_results import result, results

SCALE = {"mlgym/a-v0": Reference(0.0, 1.0), "mlgym/b-v0": Reference.between(10.0, 2.0)}


@pytest.mark.parametrize(("n", "c"), [(n, c) for n in range(1, 7) for c in range(n + 1)])
def test_they_are_shares_of_subsets(n, c):
    runs = [True] * c + [False] * (n - c)
    for k in range(1, n + 1):
        subsets = list(combinations(runs, k))
        assert pass_at_k(n, c, k) == pytest.approx(np.mean([any(one) for one in subsets]))
        assert pass_every_k(n, c, k) == pytest.approx(np.mean([all(one) for one in subsets]))


@pytest.mark.parametrize("numbers", [(4, 5, 1), (4, 2, 5), (4, -1, 1), (0, 0, 0)])
def test_numbers_that_do_not_fit(numbers):
    for figure in (pass_at_k, pass_every_k):
        with pytest.raises(ValueError, match="Expected 1 <= k <= n"):
            figure(*numbers)


def test_the_threshold_itself_is_reached_and_faults_do_not_reach_it():
    cases = [
        (result(env="mlgym/a-v0", score=1.0), True),
        (result(env="mlgym/a-v0", score=0.999), False),
        (result(env="mlgym/b-v0", score=2.0), True),
        (result(env="mlgym/b-v0", score=2.1), False),
        (result(env="mlgym/a-v0", outcome="agent_fault"), False),
        (result(env="mlgym/a-v0", outcome="infrastructure_fault", verified="claimed"), None),
        (result(env="mlgym/c-v0", score=7.0, extra={"normalised": 1.0}), True),
        (result(env="mlgym/c-v0", score=7.0, extra={"normalised": 0.0}), False),
        (result(env="CartPole-v1"), None),
        (result(env="CartPole-v1", outcome="agent_fault"), None),
    ]
    assert [is_success(one, SCALE) for one, _ in cases] == [wanted for _, wanted in cases]


def test_figures_over_tasks_and_runs_that_do_not_count():
    runs = [
        *results({"mlgym/a-v0": [1.0, 1.2, 0.0, 0.1], "mlgym/b-v0": [3.0, 5.0, 1.0, 5.0, 5.0]}),
        result(env="mlgym/a-v0", seed=9, outcome="infrastructure_fault", verified="claimed"),
        result(env="mlgym/a-v0", seed=10, score=5.0, verified="failed"),
    ]
    found = passing(runs, SCALE)["ppo"]
    assert [(one.env, one.runs, one.successes) for one in found.tasks] == [
        ("mlgym/a-v0", 4, 2),
        ("mlgym/b-v0", 5, 1),
    ]
    assert sorted(found.at) == usual_ks(4) == [1, 2, 4]
    assert found.at[1].value == pytest.approx((0.5 + 0.2) / 2)
    assert found.at[2].value == pytest.approx((pass_at_k(4, 2, 2) + pass_at_k(5, 1, 2)) / 2)
    assert found.every[2].value == pytest.approx((pass_every_k(4, 2, 2) + 0) / 2)
    for figure in (*found.at.values(), *found.every.values()):
        low, high = figure.interval
        assert 0 <= low <= figure.value <= high <= 1
        assert low < high
    assert found.of("mlgym/b-v0").at[5].value == 1.0
    assert passing(runs, SCALE)["ppo"].at == found.at  # the draws are the same each time


def test_runs_that_are_all_alike_have_an_interval():
    found = passing(results({"mlgym/a-v0": [1.0] * 4}), SCALE)["ppo"]
    assert found.at[1].value == 1.0
    # Jeffreys' interval of 4 of 4, from tables.
    assert found.at[1].interval == (pytest.approx(0.554, abs=0.01), 1.0)
    assert passing(results({"mlgym/a-v0": [1.0]}), SCALE)["ppo"].at[1].interval is None


def test_intervals_cover():
    """Of many honest experiments, about 95 % of intervals hold the true chance."""
    rng, chance, n = np.random.default_rng(1), 0.4, 8
    held = 0
    for successes in rng.binomial(n, chance, 200):
        runs = [1.0] * successes + [0.0] * (n - successes)
        low, high = passing(results({"mlgym/a-v0": runs}), SCALE)["ppo"].at[4].interval
        held += low <= 1 - (1 - chance) ** 4 <= high
    assert held > 180


def test_the_report_has_a_section():
    runs = results({"mlgym/a-v0": [1.0, 0.0], "mlgym/b-v0": [1.0, 1.0]})
    sections = build_document(runs, references=SCALE).sections
    (section,) = [one for one in sections if one.anchor == "pass"]
    rows = section.blocks[-1].rows
    assert [row[1].content for row in rows] == ["all tasks", "mlgym/a-v0", "mlgym/b-v0"]
    assert rows[0][2].content == "3 of 4"
    assert rows[1][4].content.startswith("0.500 [")
    assert "pass" not in [one.anchor for one in build_document(results({"x-v0": [1.0]})).sections]


def test_copies_of_a_success_count_once_and_failures_each_time():
    """Somebody copies a lucky run, under another record or none, to raise the figure."""
    lucky = result(env="mlgym/a-v0", score=1.0, verified="claimed")
    bad = [result(env="mlgym/a-v0", seed=1 + seed, score=0.0) for seed in range(3)]
    honest = passing([lucky, *bad], SCALE)["ppo"]
    copies = [
        result(env="mlgym/a-v0", score=1.0, verified="claimed", run=f"r{n}", head=head, record=None)
        for n, head in enumerate([None, "c" * 64, "d" * 64])
    ]
    assert passing([*copies, lucky, *bad], SCALE)["ppo"].at == honest.at
    (found,) = passing([lucky, *bad, *bad], SCALE)["ppo"].tasks
    assert (found.runs, found.successes) == (7, 1)


@pytest.mark.parametrize("outcome", [None, "infrastructure_fault", "failed"])
def test_an_agent_that_leaves_a_hard_task_out_has_no_figure_over_all(outcome):
    honest = results({"mlgym/a-v0": [1.0, 1.0], "mlgym/b-v0": [9.0, 9.0]})
    runs = results({"mlgym/a-v0": [1.0, 1.0]}, agent="cherry")
    if outcome == "failed":
        runs.append(result(env="mlgym/b-v0", agent="cherry", verified="failed"))
    elif outcome is not None:
        runs.append(result(env="mlgym/b-v0", agent="cherry", outcome=outcome, verified="claimed"))
    found = passing([*honest, *runs], SCALE)
    assert found["ppo"].at[2].value == 0.5
    assert found["cherry"].at == found["cherry"].every == {}
    assert found["cherry"].of("mlgym/a-v0").at[2].value == 1.0
    assert found["cherry"].of("mlgym/b-v0").at == {}


def test_claims_are_told_from_verified_successes():
    runs = results({"mlgym/a-v0": [1.0, 1.0, 0.0]}, verified="claimed")
    runs.append(result(env="mlgym/a-v0", seed=9, score=1.0))
    found = passing(runs, SCALE)["ppo"]
    assert (found.successes, found.verified) == (3, 1)
    document = str(build_document(runs, references=SCALE))
    assert "1 of 3" in document
