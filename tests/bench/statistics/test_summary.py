from __future__ import annotations

import pytest

from ludus.bench.statistics import Reference, gather, summarise
from tests.bench.some_results import result, results

CARTPOLE = {"CartPole-v1": Reference(20.0, 500.0)}
BOTH = CARTPOLE | {"Taxi-v3": Reference(-770.0, 8.0)}


def fault(kind, seed, **changes):
    return result(outcome=f"{kind}_fault", seed=seed, **changes)


class TestFaults:
    MIXED = [
        *results({"CartPole-v1": [100.0, 300.0]}),
        fault("agent", 2),
        fault("infrastructure", 3),
    ]

    def test_agents_count_as_the_reference_minimum(self):
        task = gather(self.MIXED, references=CARTPOLE)["ppo"].tasks["CartPole-v1"]
        assert sorted(task.runs) == [20.0, 100.0, 300.0]
        assert str(task.counts) == (
            "n = 3 of 4 results: 2 scored, 1 agent fault, 1 of them counted as the floor, "
            "1 infrastructure fault (never counted)"
        )

    def test_failing_never_pays(self):
        worse = [*self.MIXED, result(seed=9, score=5.0)]
        task = gather(worse, references=CARTPOLE)["ppo"].tasks["CartPole-v1"]
        assert sorted(task.runs) == [5.0, 5.0, 100.0, 300.0]
        assert task.floor == 5.0

    @pytest.mark.parametrize("floor", [None, -10.0])
    def test_who_else_is_there_makes_no_difference(self, floor):
        references = {"CartPole-v1": Reference(20.0, 500.0, floor=floor)}
        others = [result(agent="other", score=score, seed=9) for score in (-1e9, 5.0)]
        alone = gather(self.MIXED, references=references)["ppo"].tasks["CartPole-v1"]
        among = gather([*self.MIXED, *others], references=references)["ppo"].tasks["CartPole-v1"]
        assert list(alone.runs) == list(among.runs)
        assert alone.floor == (20.0 if floor is None else floor)

    def test_no_score_counts_as_less_than_a_floor(self):
        references = {"CartPole-v1": Reference(20.0, 500.0, floor=0.0)}
        worse = [*self.MIXED, result(seed=9, score=-700.0)]
        task = gather(worse, references=references)["ppo"].tasks["CartPole-v1"]
        assert sorted(task.runs) == [0.0, 0.0, 100.0, 300.0]

    def test_a_floor_needs_no_reference(self):
        found = gather([fault("agent", 0)], floors={"CartPole-v1": 3.0})["ppo"]
        assert list(found.tasks["CartPole-v1"].runs) == [3.0]
        assert found.caveats == ()

    def test_faults_alone_have_no_interval(self):
        failed = [fault("agent", seed) for seed in range(4)]
        found = summarise(failed, references=CARTPOLE)["ppo"]
        for one in (found.mean, found.iqm, found.optimality_gap, found.tasks[0].mean):
            assert (one.interval, one.n) == (None, 4)
        mixed = summarise([*failed, result(seed=9)], references=CARTPOLE)["ppo"]
        assert mixed.mean.interval is not None

    def test_without_a_reference_the_worst_seen_counts_and_that_is_told(self):
        found = gather([*self.MIXED, result(agent="other", score=50.0)])["ppo"]
        assert sorted(found.tasks["CartPole-v1"].runs) == [50.0, 100.0, 300.0]
        assert "count as the worst score that was seen" in found.caveats[0]

    def test_where_lower_is_better_the_worst_is_the_highest(self):
        reference = {"CartPole-v1": Reference(20.0, 500.0, higher_is_better=False)}
        assert max(gather(self.MIXED, references=reference)["ppo"].tasks["CartPole-v1"].runs) == 500
        unscaled = gather(self.MIXED, lower=["CartPole-v1"])["ppo"].tasks["CartPole-v1"]
        assert sorted(unscaled.runs) == [100.0, 300.0, 300.0]
        assert sorted(unscaled.upward) == [-300.0, -300.0, -100.0]

    def test_may_be_left_out_and_that_is_told(self):
        found = gather(self.MIXED, references=CARTPOLE, faults="omit")["ppo"]
        assert sorted(found.tasks["CartPole-v1"].runs) == [100.0, 300.0]
        assert found.counts.used == 2
        assert "1 agent fault of ppo left out" in found.caveats[0]
        assert "1 agent fault, 0 of them counted" in str(found.counts)

    def test_infrastructure_never_counts(self):
        found = gather([fault("infrastructure", 0)], references=CARTPOLE)["ppo"]
        assert found.with_runs == ()
        assert (found.counts.used, found.counts.infrastructure_faults) == (0, 1)
        assert "no run that counts on CartPole-v1" in found.caveats[0]

    def test_copies_count_once(self):
        again = [*self.MIXED, *(result(**{**one.to_dict(), "run": "b"}) for one in self.MIXED)]
        found = gather(again, references=CARTPOLE)["ppo"]
        assert sorted(found.tasks["CartPole-v1"].runs) == [20.0, 100.0, 300.0]
        assert found.caveats == ("4 copies of results of ppo left out.",)

    def test_nothing_to_count_a_fault_as(self):
        found = gather([fault("agent", 0)])["ppo"]
        assert (found.with_runs, found.counts.used, found.counts.agent_faults) == ((), 0, 1)

    def test_repeated_work_is_told(self):
        again = [*results({"CartPole-v1": [1.0]}), result(run="second")]
        assert "1 result of ppo repeat work" in gather(again)["ppo"].caveats[0]

    def test_bad_calls(self):
        with pytest.raises(ValueError, match="'worst' or 'omit'"):
            gather([], faults="zero")
        with pytest.raises(ValueError, match="reference says higher"):
            gather([], references=CARTPOLE, lower=["CartPole-v1"])


class TestSummary:
    def test_over_several_tasks(self):
        runs = results({"CartPole-v1": [260.0, 260.0], "Taxi-v3": [8.0, 8.0]})
        found = summarise(runs, references=BOTH)["ppo"]
        assert found.normalised
        assert found.mean.value == pytest.approx(0.75)
        assert found.median.value == pytest.approx(0.75)
        assert found.optimality_gap.value == pytest.approx(0.25)
        assert [task.env for task in found.tasks] == ["CartPole-v1", "Taxi-v3"]
        pole = found.tasks[0]
        assert (pole.normalised.value, pole.normalised.score) == (0.5, 260.0)
        assert pole.reference == BOTH["CartPole-v1"]
        assert found.mean.n == found.counts.used == 4
        assert found.caveats == ()

    def test_different_scales_do_not_add_up(self):
        runs = results({"CartPole-v1": [260.0, 260.0], "Taxi-v3": [8.0, 8.0]})
        found = summarise(runs, references=CARTPOLE)["ppo"]
        assert (found.mean, found.median, found.iqm, found.optimality_gap) == (None,) * 4
        assert "Taxi-v3 without a reference" in found.caveats[0]
        assert found.tasks[1].mean.value == 8.0
        assert found.tasks[1].normalised is None

    def test_one_task_needs_no_reference(self):
        found = summarise(results({"CartPole-v1": [1.0, 2.0, 9.0]}))["ppo"]
        assert not found.normalised
        assert found.mean.value == 4.0
        assert found.tasks[0].median.value == 2.0
        assert found.optimality_gap is None

    def test_one_run_has_no_interval(self):
        found = summarise([result()], references=CARTPOLE)["ppo"]
        for one in (found.mean, found.iqm, found.tasks[0].mean, found.tasks[0].median):
            assert one.interval is None
            assert "±" not in str(one)
            assert "[" not in str(one)

    def test_who_lacks_a_task_has_no_figure_over_all(self):
        """Else who leaves out the hard ones would have the higher mean."""
        whole = results({"CartPole-v1": [260.0, 260.0], "Taxi-v3": [-700.0, -700.0]})
        picky = results({"CartPole-v1": [250.0, 250.0]}, agent="picky")
        lost = result(agent="picky", env="Taxi-v3", outcome="infrastructure_fault")
        for rows in ([*whole, *picky], [*whole, *picky, lost]):
            found = summarise(rows, references=BOTH)
            assert found["ppo"].iqm is not None
            assert (found["picky"].mean, found["picky"].iqm) == (None, None)
            assert "picky lacks Taxi-v3" in found["picky"].caveats[-1]

    def test_nothing_that_counts(self):
        found = summarise([fault("infrastructure", 0)])["ppo"]
        assert (found.mean, found.tasks[0].mean) == (None, None)
        assert found.counts.results == 1

    def test_agents_apart(self):
        found = summarise([result(), result(agent="random", score=20.0)])
        assert list(found) == ["ppo", "random"]
