from __future__ import annotations

from dataclasses import replace

import pytest

from ludus.bench.comparing.comparability import WORDS
from ludus.bench.comparing.comparison import compare
from ludus.bench.statistics import Reference
from ludus.errors import ComparisonRefused
from tests.bench.some_results import result, results

SCORES = {"CartPole-v1": [100.0, 120.0, 140.0], "Taxi-v3": [-10.0, 0.0, 4.0]}
LOWER = {"CartPole-v1": [90.0, 95.0, 130.0], "Taxi-v3": [-100.0, -50.0, 2.0]}
REFERENCES = {"CartPole-v1": Reference(20.0, 500.0), "Taxi-v3": Reference(-770.0, 8.0)}


def agents(**changes):
    """Two agents that are comparable, but for ``changes`` of the second."""
    return results(SCORES), results(LOWER, agent="random", run="other", **changes)


def refused(a, b, **options):
    with pytest.raises(ComparisonRefused) as caught:
        compare(a, b, **options)
    return caught.value


class TestFigures:
    def test_task_by_task(self):
        found = compare(*agents())
        pole, taxi = found.tasks
        assert (pole.env, pole.a.value, pole.b.value) == ("CartPole-v1", 120.0, 105.0)
        assert pole.difference.value == pytest.approx(15.0)
        assert pole.difference.low < 15 < pole.difference.high
        assert pole.improvement.value == pytest.approx(7 / 9)
        assert (pole.a.n, pole.difference.n, taxi.counts_b.used) == (3, 6, 3)

    def test_over_all_tasks(self):
        found = compare(*agents(), references=REFERENCES)
        # Normalised and without the lowest and highest of six: four about each.
        a = sorted([80 / 480, 100 / 480, 120 / 480, 760 / 778, 770 / 778, 774 / 778])
        b = sorted([70 / 480, 75 / 480, 110 / 480, 670 / 778, 720 / 778, 772 / 778])
        assert found.iqm_a.value == pytest.approx(sum(a[1:5]) / 4)
        assert found.iqm_b.value == pytest.approx(sum(b[1:5]) / 4)
        assert found.iqm_difference.value == pytest.approx(found.iqm_a.value - found.iqm_b.value)
        assert found.improvement.value == pytest.approx((7 / 9 + 7 / 9) / 2)
        assert found.improvement.interval is not None
        assert (found.caveats, found.allowed) == ((), {})

    def test_scales_without_references_do_not_add_up(self):
        found = compare(*agents())
        assert (found.iqm_a, found.iqm_b, found.iqm_difference) == (None, None, None)
        assert "No IQM over all tasks" in found.caveats[0]
        assert found.improvement.n == 12

    def test_a_single_task_needs_no_reference(self):
        a, b = (results({"CartPole-v1": runs}, agent=agent) for agent, runs in
                (("x", [1.0, 2.0, 3.0, 4.0]), ("y", [0.0, 1.0, 2.0, 3.0])))  # fmt: skip
        assert compare(a, b).iqm_difference.value == pytest.approx(1.0)

    def test_where_lower_is_better(self):
        a, b = agents()
        for options in (
            {"lower": ["CartPole-v1"]},
            {"references": {"CartPole-v1": Reference(20.0, 500.0, higher_is_better=False)}},
        ):
            pole, taxi = compare(a, b, **options).tasks
            assert pole.difference.value == pytest.approx(15.0)
            assert pole.improvement.value == pytest.approx(2 / 9)
            assert (pole.higher_is_better, taxi.higher_is_better) == (False, True)

    def test_turned_around(self):
        there = compare(*agents(), references=REFERENCES)
        back = compare(*reversed(agents()), references=REFERENCES)
        assert there.improvement.value + back.improvement.value == pytest.approx(1.0)
        assert there.iqm_difference.value == pytest.approx(-back.iqm_difference.value)

    def test_is_repeatable(self):
        assert compare(*agents(), seed=1) == compare(*agents(), seed=1)

    def test_one_run_each_has_no_interval(self):
        found = compare([result()], [result(agent="random", score=20.0)])
        assert found.tasks[0].difference.interval is None
        assert not any("±" in cell or "[" in cell for row in found.cells() for cell in row)

    def test_cells(self):
        heading, *rows = compare(*agents(), references=REFERENCES).cells()
        assert heading[:3] == ("environment", "ppo", "random")
        assert [row[0] for row in rows] == ["CartPole-v1", "Taxi-v3", "all (IQM)"]
        assert rows[0][1].startswith("120 [")
        assert rows[0][1].endswith("(n = 3)")
        assert compare(*agents()).cells()[-1][1:4] == ("—", "—", "—")


class TestSides:
    def test_two_runs_of_one_agent(self):
        found = compare(results(SCORES), results(LOWER, run="second"))
        assert (found.a.label, found.b.label) == ("ppo (first)", "ppo (second)")
        assert (found.a.agent, found.b.runs) == ("ppo", ("second",))

    def test_with_itself(self):
        found = compare(results(SCORES), results(SCORES))
        assert found.improvement.value == 0.5
        assert found.a.label != found.b.label

    def test_one_agent_each(self):
        with pytest.raises(ValueError, match="second side.*got ppo, random"):
            compare(results(SCORES), [result(), result(agent="random")])
        with pytest.raises(ValueError, match="first side.*got no results"):
            compare([], results(SCORES))


class TestFaults:
    def test_denominators_are_stated(self):
        a, b = agents()
        b[0] = result(agent="random", outcome="agent_fault")
        found = compare(a, b, references=REFERENCES)
        assert (found.b.counts.scored, found.b.counts.agent_faults, found.b.counts.used) == (
            5,
            1,
            6,
        )
        assert found.tasks[0].b.value == pytest.approx((20 + 95 + 130) / 3)

    def test_a_fault_costs_both_the_same(self):
        a, b = agents()
        a[0] = result(outcome="agent_fault")
        found = compare(a, b)
        assert found.tasks[0].a.value == pytest.approx((90 + 120 + 140) / 3)  # the other's worst
        assert any("worst score that was seen" in caveat for caveat in found.caveats)

    def test_left_out_and_told(self):
        a, b = agents()
        a[0] = result(outcome="agent_fault")
        found = compare(a, b, faults="omit")
        assert found.tasks[0].a.n == 2
        assert any("left out of the figures" in caveat for caveat in found.caveats)

    def test_infrastructure_makes_a_seed_missing(self):
        a, b = agents()
        a[0] = result(outcome="infrastructure_fault", verified="failed", source_hash=None)
        assert set(refused(a, b).reasons) == {"seeds"}
        found = compare(a, b, allow=["seeds"])
        assert (found.a.counts.infrastructure_faults, found.tasks[0].a.n) == (1, 2)

    def test_a_task_without_any_run_is_not_compared(self):
        a, b = agents()
        a[:3] = [result(outcome="infrastructure_fault", seed=seed) for seed in range(3)]
        assert set(refused(a, b).reasons) == {"tasks"}
        found = compare(a, b, allow=["tasks"])
        assert [task.env for task in found.tasks] == ["Taxi-v3"]
        assert any("Not compared" in caveat and "CartPole-v1" in caveat for caveat in found.caveats)


@pytest.mark.parametrize(
    ("change", "words", "says"),
    [
        ({"suite": "toy"}, {"suites"}, "different suites: classic, toy"),
        ({"suite_digest": "e" * 64}, {"suites"}, "suite classic was not the same"),
        ({"source_hash": "c" * 64}, {"versions"}, "with source aaaaaaaaaaaa and cccccccccccc"),
        ({"source_hash": None}, {"versions"}, "aaaaaaaaaaaa and unknown"),
        ({"budget": '{"episodes":100}'}, {"budgets"}, "CartPole-v1 .*and .*100"),
        ({"verified": "claimed"}, {"claimed"}, "0 results of the first and 6 of the second"),
        ({"verified": "failed"}, {"failed"}, "FAILED verification"),
        ({"suite": "toy", "verified": "failed"}, {"suites", "failed"}, "allow by word: suites, f"),
    ],
)
class TestRefusals:
    def test_say_why_and_how_to_ask_anyway(self, change, words, says):
        error = refused(*agents(**change))
        assert set(error.reasons) == words
        with pytest.raises(ComparisonRefused, match=says):
            compare(*agents(**change))

    def test_are_overruled_by_their_word_only(self, change, words, says):
        others = set(WORDS) - words
        assert set(refused(*agents(**change), allow=others).reasons) == words
        found = compare(*agents(**change), allow=words)
        assert set(found.allowed) == words
        assert sum(caveat.startswith("Allowed: ") for caveat in found.caveats) == len(words)


class TestVersions:
    OLD = {"CartPole-v0": [90.0, 95.0, 130.0]}
    NEW = {"CartPole-v1": [100.0, 120.0, 140.0]}

    def test_of_one_environment_are_not_mixed(self):
        error = refused(results(self.NEW), results(self.OLD, agent="random"))
        assert set(error.reasons) == {"versions"}
        assert "CartPole-v1 against CartPole-v0" in error.reasons["versions"]

    def test_are_one_task_if_allowed(self):
        found = compare(
            results(self.NEW),
            results(self.OLD, agent="random"),
            allow="versions",
            references={"CartPole-v1": REFERENCES["CartPole-v1"]},
        )
        assert [task.env for task in found.tasks] == ["CartPole-v0 / CartPole-v1"]
        assert found.tasks[0].reference is None  # that of one version is no scale for the other

    def test_direction_is_kept_when_joined(self):
        down = {"CartPole-v1": Reference(0.0, 500.0, higher_is_better=False)}
        found = compare(
            results(self.NEW), results(self.OLD, agent="random"), allow="versions", references=down
        )
        assert not found.tasks[0].higher_is_better

    def test_that_both_have_are_tasks_of_their_own(self):
        both = self.NEW | self.OLD
        assert len(compare(results(both), results(both, agent="random")).tasks) == 2

    def test_that_one_has_more_of_are_told(self):
        error = refused(results(self.NEW | self.OLD), results(self.NEW, agent="random"))
        assert set(error.reasons) == {"versions", "tasks"}


class TestCompleteness:
    def test_missing_tasks(self):
        a, b = agents()
        error = refused(a, b[:3])
        assert error.reasons == {"tasks": "tasks are missing: the second lacks Taxi-v3"}
        assert len(compare(a, b[:3], allow=["tasks"]).tasks) == 1

    def test_missing_seeds(self):
        a, b = agents()
        error = refused(a[1:], b[:-1])
        assert error.reasons["seeds"] == (
            "seeds are missing: on CartPole-v1 the first lacks 0; on Taxi-v3 the second lacks 2"
        )
        assert compare(a[1:], b[:-1], allow=["seeds"]).tasks[0].difference.n == 5

    def test_repeated_work(self):
        a, b = agents()
        assert set(refused([*a, a[0]], b).reasons) == {"duplicates"}
        assert compare([*a, a[0]], b, allow=["duplicates"]).tasks[0].a.n == 3
        # Done again with the same outcome says nothing new; with another one it does.
        same = replace(a[0], run="again", created="2027-01-01T00:00:00Z")
        assert compare([*a, same], b, allow=["duplicates"]).tasks[0].a.n == 3
        again = replace(same, steps=same.steps + 1)
        assert compare([*a, again], b, allow=["duplicates"]).tasks[0].a.n == 4

    def test_nothing_in_common(self):
        a, b = results({"CartPole-v1": [1.0]}), results({"Taxi-v3": [1.0]}, agent="random")
        with pytest.raises(ComparisonRefused, match="no task in common"):
            compare(a, b, allow=WORDS)

    def test_unknown_words(self):
        with pytest.raises(ValueError, match=r"Nothing is called \['everything'\]"):
            compare(*agents(), allow=["everything"])
