from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.bench.statistics import aup, best_entries
from tests.bench.some_results import result

# Three tasks, three agents and the baseline. Worked out by hand:
#
#             accuracy (up)      loss (down)        payoff (up)
# a           .8   r = 1         2    r = 2         10   r = 10
# b           .4   infeasible    1    r = 1         100  r = 1
# c           missing            5    infeasible    50   r = 2
# baseline    .5   r = 1.6       4    r = 4         8    r = 12.5
#
# b's accuracy is below the baseline's and c's loss above it, so both are infeasible there.
# Worst feasible ratios are the baseline's, 1.6, 4 and 12.5, all of them; times 1.05 that is
# 1.68, 4.2 and 13.125: the ratios of the infeasible. Rounded up: 2, 5 and 14.
# log10 14 = 1.146, rounded up to a tenth: tau_max = 1.2. Its 499 steps are 1.2 / 499 = .0024048.
#
# A ratio r is counted at the left end of step k (from 0) if k >= log10 r / .0024048:
#   r           1     1.6     1.68     2       4       4.2     10      12.5
#   log10 r     0     .20412  .22531   .30103  .60206  .62325  1       1.09691
#   / step      0     84.88   93.69    125.18  250.36  259.17  415.83  456.13
#   from k      0     85      94       126     251     260     416     457
#   steps       499   414     405      373     248     239     83      42
#
# AUP = (sum over the three tasks of steps) / 3 × 1.2 / 499
TABLE = {
    "a": {"accuracy": 0.8, "loss": 2.0, "payoff": 10.0},
    "b": {"accuracy": 0.4, "loss": 1.0, "payoff": 100.0},
    "c": {"accuracy": None, "loss": 5.0, "payoff": 50.0},
}
BASELINE = {"accuracy": 0.5, "loss": 4.0, "payoff": 8.0}
STEPS = {
    "a": 499 + 373 + 83,
    "b": 405 + 499 + 499,
    "c": 405 + 239 + 373,
    "baseline": 414 + 248 + 42,
}
ROUNDED = {"a": 0.7655, "b": 1.1246, "c": 0.8152, "baseline": 0.5643}

positive = st.integers(1, 1000).map(float)
tables = st.dictionaries(
    st.sampled_from("abcd"),
    st.fixed_dictionaries(dict.fromkeys(("x", "y", "z"), positive)),
    min_size=1,
)
few = settings(max_examples=50, deadline=None)


class TestHandComputedTable:
    @pytest.fixture
    def found(self):
        """As MLGym computes it."""
        return aup(TABLE, lower=["loss"], baseline=BASELINE, infeasible="penalty")

    def test_values(self, found):
        expected = {agent: steps / 3 * 1.2 / 499 for agent, steps in STEPS.items()}
        assert found.values == pytest.approx(expected, rel=0, abs=1e-12)
        assert found.values == pytest.approx(ROUNDED, rel=0, abs=5e-5)
        assert found.tau_max == 1.2

    def test_ratios(self, found):
        columns = {
            task: [found.ratios[agent][task] for agent in found.values] for task in found.tasks
        }
        assert columns["accuracy"] == pytest.approx([1, 1.68, 1.68, 1.6])
        assert columns["loss"] == pytest.approx([2, 1, 4.2, 4])
        assert columns["payoff"] == pytest.approx([10, 1, 2, 12.5])
        assert found.infeasible == {("b", "accuracy"), ("c", "accuracy"), ("c", "loss")}

    def test_profiles_are_what_the_area_is_of(self, found):
        for agent, rho in found.profiles.items():
            assert (np.diff(rho) >= 0).all()
            area = (rho[:-1] * np.diff(found.taus)).sum()
            assert area == pytest.approx(found.values[agent])
        assert found.profiles["b"][0] == pytest.approx(2 / 3)
        assert found.profiles["baseline"][-1] == 1

    def test_says_that_it_is_not_portable(self, found):
        assert "within these 4 agents only" in found.caveats[0]
        assert "tau_max = 1.2 comes from the worst" in found.caveats[0]
        alone = aup({"a": TABLE["a"]}, lower=["loss"])
        assert alone.values["a"] != pytest.approx(found.values["a"])


class TestInfeasible:
    """Of the table above: b fails on accuracy, c on accuracy and on loss."""

    @pytest.fixture
    def found(self):
        return aup(TABLE, lower=["loss"], baseline=BASELINE)

    def test_reaches_no_threshold(self, found):
        steps = {**STEPS, "b": 499 + 499, "c": 373}
        expected = {agent: count / 3 * 1.2 / 499 for agent, count in steps.items()}
        assert found.values == pytest.approx(expected, rel=0, abs=1e-12)
        assert found.profiles["b"][-1] == pytest.approx(2 / 3)
        assert found.profiles["c"][-1] == pytest.approx(1 / 3)

    def test_who_fails_everywhere_has_nothing(self):
        table = {**TABLE, "broken": dict.fromkeys(BASELINE)}
        for way, near in (("never", 0.0), ("penalty", 0.5435)):
            found = aup(table, lower=["loss"], baseline=BASELINE, infeasible=way)
            assert found.values["broken"] == pytest.approx(near, abs=1e-3)

    def test_where_the_area_ends_is_the_same(self, found):
        assert found.tau_max == 1.2
        assert found.values["a"] == pytest.approx(ROUNDED["a"], abs=5e-5)

    def test_an_agent_that_is_called_baseline_takes_nobodys_place(self):
        table = {"baseline": {"t": 0.2}, "good": {"t": 2.0}}
        found = aup(table, baseline={"t": 1.0})
        assert found.baseline == "baseline (of the tasks)"
        assert found.infeasible == {("baseline", "t")}
        assert found.values["baseline"] == 0 < found.values["baseline (of the tasks)"]

    def test_a_score_next_to_nothing(self):
        found = aup({"a": {"t": 5e-324}, "b": {"t": 1e300}})
        assert found.values["a"] == 0 < found.values["b"] < math.inf


def test_a_coarse_sum():
    # r = 1 and 2; 1.05 × 2 = 2.1, up to 3; log10 3 = .477, up to .5. Left ends: 0 .1 .2 .3 .4.
    # log10 2 = .301 is reached at .4 only, so the second has one step of .1.
    found = aup({"best": {"t": 2.0}, "half": {"t": 1.0}}, points=6)
    assert found.values == pytest.approx({"best": 0.5, "half": 0.1})


def test_tau_max_can_be_given():
    found = aup(TABLE, lower=["loss"], baseline=BASELINE, tau_max=2.0)
    assert found.values["b"] > 1.2
    assert "tau_max = 2 was given" in found.caveats[0]


def test_missing_in_any_form_is_infeasible():
    rows = {"none": {"t": None}, "nan": {"t": math.nan}, "absent": {}, "one": {"t": 1.0}}
    found = aup(rows)
    assert found.infeasible == {("none", "t"), ("nan", "t"), ("absent", "t")}
    assert found.ratios["absent"]["t"] == math.inf
    assert found.values["absent"] == 0
    assert aup(rows, infeasible="penalty").ratios["absent"]["t"] == 1.05


class TestZeroAndNegative:
    ROWS = {"a": {"up": 2.0, "other": 1.0}, "b": {"up": -1.0, "other": 2.0}}

    def test_are_refused_with_the_ways_out(self):
        with pytest.raises(ValueError, match="up has b with -1.*'omit'.*'infeasible'"):
            aup(self.ROWS)

    def test_may_count_as_infeasible_and_that_is_told(self):
        found = aup(self.ROWS, nonpositive="infeasible")
        assert found.infeasible == {("b", "up")}
        assert any("up: zero or negative" in caveat for caveat in found.caveats)

    def test_may_leave_the_task_out_and_that_is_told(self):
        found = aup(self.ROWS, nonpositive="omit")
        assert found.tasks == ("other",)
        assert any("up is left out" in caveat for caveat in found.caveats)

    @pytest.mark.parametrize("score", [0.0, -3.0])
    def test_where_lower_is_better_would_punish_the_best(self, score):
        rows = {"perfect": {"loss": score, "x": 1.0}, "poor": {"loss": 9.0, "x": 1.0}}
        with pytest.raises(ValueError, match="would punish the best"):
            aup(rows, lower=["loss"], nonpositive="infeasible")
        assert aup(rows, lower=["loss"], nonpositive="omit").tasks == ("x",)

    def test_below_the_baseline_are_infeasible_anyway(self):
        found = aup({"a": {"t": -5.0}}, baseline={"t": 1.0})
        assert found.infeasible == {("a", "t")}

    def test_a_negative_baseline_is_met_too(self):
        rows, baseline = {"a": {"blotto": 0.2}}, {"blotto": -0.248}
        with pytest.raises(ValueError, match="baseline with -0.248"):
            aup(rows, baseline=baseline)
        found = aup(rows, baseline=baseline, nonpositive="infeasible")
        assert found.infeasible == {("baseline", "blotto")}

    def test_nothing_feasible(self):
        with pytest.raises(ValueError, match="No agent has a feasible score on t"):
            aup({"a": {"t": None, "u": 1.0}})
        found = aup({"a": {"t": None, "u": 1.0}}, nonpositive="omit")
        assert any("t is left out" in caveat for caveat in found.caveats)


@pytest.mark.parametrize(
    ("table", "options", "match"),
    [
        ({}, {}, "at least one agent"),
        ({"a": {}}, {}, "at least one agent"),
        ({"a": {"t": math.inf}}, {}, "infinite"),
        ({"a": {"t": 1.0}}, {"points": 1}, "points of at least 2"),
        ({"a": {"t": 1.0}}, {"tau_max": 0.0}, "positive tau_max"),
        ({"a": {"t": 1.0}}, {"tau_max": math.nan}, "positive tau_max"),
        ({"a": {"t": 1.0}}, {"nonpositive": "guess"}, "'refuse', 'infeasible', 'omit'"),
        ({"a": {"t": 1.0}}, {"infeasible": "guess"}, "'never', 'penalty'"),
    ],
)
def test_bad_calls(table, options, match):
    with pytest.raises(ValueError, match=match):
        aup(table, **options)


def test_one_name_is_one_task():
    found = aup({"a": {"os": 2.0, "loss": 1.0}, "b": {"os": 1.0, "loss": 2.0}}, lower="loss")
    assert found.ratios["a"] == {"os": 1.0, "loss": 1.0}


class TestProperties:
    @few
    @given(table=tables)
    def test_between_nothing_and_tau_max(self, table):
        found = aup(table)
        assert all(0 <= value <= found.tau_max + 1e-12 for value in found.values.values())
        assert all(ratio >= 1 for row in found.ratios.values() for ratio in row.values())

    @few
    @given(table=tables)
    def test_who_is_best_everywhere_gets_it_all(self, table):
        found = aup({**table, "best": {"x": 1001.0, "y": 1001.0, "z": 1001.0}})
        assert found.values["best"] == pytest.approx(found.tau_max)

    @few
    @given(table=tables, scale=st.integers(-3, 3))
    def test_units_do_not_matter(self, table, scale):
        scaled = {agent: {**row, "x": math.ldexp(row["x"], scale)} for agent, row in table.items()}
        assert aup(scaled).values == aup(table).values

    @few
    @given(table=tables)
    def test_lower_is_higher_upside_down(self, table):
        table = {a: {t: 2.0 ** (v % 7) for t, v in row.items()} for a, row in table.items()}
        turned = {a: {t: 1 / v for t, v in row.items()} for a, row in table.items()}
        assert aup(turned, lower=["x", "y", "z"]).values == aup(table).values

    @few
    @given(table=tables, data=st.data())
    def test_order_does_not_matter(self, table, data):
        agents = data.draw(st.permutations(list(table)))
        order = data.draw(st.permutations(["x", "y", "z"]))
        shuffled = {agent: {task: table[agent][task] for task in order} for agent in agents}
        assert aup(shuffled).values == pytest.approx(aup(table).values)

    @few
    @given(table=tables, more=positive)
    def test_getting_better_never_hurts(self, table, more):
        table = {**table, "best": {"x": 5000.0, "y": 1.0, "z": 1.0}}
        agent = next(iter(table))
        better = {**table, agent: {**table[agent], "x": table[agent]["x"] + more}}
        before, after = aup(table, tau_max=4.0), aup(better, tau_max=4.0)
        assert after.values[agent] >= before.values[agent] - 1e-12


class TestBestEntries:
    RUNS = [
        result(agent="a", env="t", seed=0, score=3.0, best_score=9.0),
        result(agent="a", env="t", seed=1, score=5.0, best_score=6.0),
        result(agent="b", env="t", seed=0, outcome="agent_fault", best_score=4.0),
        result(agent="b", env="t", seed=1, outcome="agent_fault"),
        result(agent="b", env="t", seed=2, outcome="infrastructure_fault"),
    ]

    def test_attempt_and_submission(self):
        assert best_entries(self.RUNS, entry="attempt")[0] == {"a": {"t": 9.0}, "b": {"t": 4.0}}
        table, caveats = best_entries(self.RUNS, entry="submission")
        assert table == {"a": {"t": 5.0}, "b": {"t": None}}
        assert caveats == ("Each entry is the best of 2 runs, not their mean.",)
        assert best_entries(self.RUNS[:1], entry="submission")[1] == ()

    def test_lower(self):
        table, _ = best_entries(self.RUNS, entry="attempt", lower=["t"])
        assert table["a"] == {"t": 6.0}

    def test_unequal_numbers_of_runs_are_told(self):
        _, caveats = best_entries(self.RUNS[:-2], entry="attempt")
        assert "best is taken of 1 to 2 runs" in caveats[0]
