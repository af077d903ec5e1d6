"""Ways to look better than one is: each of them tried, and what is shown instead."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ludus.bench import BenchFolder, RunSettings, run_suite
from ludus.bench.comparing.comparison import compare
from ludus.bench.outcome import LARGEST_SCORE
from ludus.bench.planning.budget import BudgetChange
from ludus.bench.planning.suite import load_suite, suite_from
from ludus.bench.report.write import build_document
from ludus.bench.running.runner import BenchRun
from ludus.bench.statistics import Reference, summarise
from ludus.bench.store import open_store
from ludus.bench.store.board import lookalikes, tally_results
from ludus.bench.store.leaderboard import make_boards
from ludus.cli.results import run_table
from ludus.errors import BenchError, SuiteError
from tests.bench.some_results import result, results
from tests.bench.stating import some_key, stated

ENV = "CartPole-v1"
MOMENT = "2026-05-05T00:00:00Z"
SCALE = {ENV: Reference(20.0, 500.0)}
PAIR = {ENV: (20.0, 500.0)}


def suite(**row):
    given = {"id": ENV, "reference": {"min": 20.0, "max": 500.0, "source": "x"}, **row}
    return suite_from(
        {"name": "mine", "seeds": 2, "budget": {"episodes": 2}, "environments": [given]}, "test"
    )


def stored(tmp_path, rows, **options):
    """Return the only board of a store that holds the results."""
    with open_store(tmp_path / "s.sqlite", trusted_keys=[some_key().public]) as store:
        store.add(rows)
        store.add_statements(stated(rows))
        (board,) = store.leaderboard(**options)
    return board


def cautions(rows, **options) -> str:
    first = build_document(rows, references=PAIR, **options).sections[0]
    return " ".join(
        "".join(map(str, block.parts)) for block in first.blocks if hasattr(block, "parts")
    )


class TestCopies:
    """A good result is listed again under other runs, so that it weighs more."""

    GOOD = result(seed=0, score=500.0)
    ROWS = [
        GOOD,
        result(seed=1, score=20.0),
        *(result(seed=0, score=500.0, run=f"copy {n}") for n in range(8)),
    ]

    def test_count_once_in_statistics(self):
        found = summarise(self.ROWS, references=SCALE)["ppo"]
        assert (found.mean.value, found.mean.n) == (pytest.approx(0.5), 2)
        assert "8 copies of results of ppo left out." in found.caveats

    def test_count_once_in_reports(self):
        document = build_document(self.ROWS, references=PAIR)
        table = next(one for one in document.sections if one.anchor == "environments").blocks[2]
        assert [cell.content for cell in table.rows[0][1:3]] == ["260.0", "2 of 10"]
        assert "8 of 10 runs are copies" in cautions(self.ROWS)

    def test_count_once_on_boards(self, tmp_path):
        made = make_boards(tally_results(self.ROWS))[0].rows[0]
        row = stored(tmp_path, self.ROWS, references=PAIR).rows[0]
        assert made.scores == row.scores
        assert (row.value, row.results, row.scores[0].mean) == (pytest.approx(0.5), 2, 260.0)

    def test_a_copy_that_was_refuted_speaks_for_its_own_run(self, tmp_path):
        """Else whoever copies a result could have it taken off the board."""
        rows = [
            replace(one, verified="failed" if n == 0 else "verified")
            for n, one in enumerate(self.ROWS)
        ]
        row = stored(tmp_path, rows, references=PAIR).rows[0]
        assert (row.results, row.verified, row.refuted) == (2, 2, 0)

    def test_a_copy_with_another_record_and_time_is_one(self, tmp_path):
        """The luckiest seed again and again, each time with a chain of its own."""
        again = [
            replace(self.GOOD, run=f"r{n}", head=f"{n:064x}", seconds=float(n), created=MOMENT)
            for n in range(1, 6)
        ]
        row = stored(tmp_path, [self.GOOD, *again], references=PAIR).rows[0]
        assert row.results == 1

    def test_a_unit_that_was_done_again_counts(self, tmp_path):
        again = replace(self.GOOD, run="b", score=20.0, best_score=20.0, head="c" * 64)
        row = stored(tmp_path, [self.GOOD, again], references=PAIR).rows[0]
        assert (row.results, row.scores[0].mean) == (2, 260.0)

    def test_a_lucky_unit_that_is_done_again_and_again_is_said_on_boards(self, tmp_path):
        """The others are copies, which count once; this one has another number of steps."""
        note = "Some units have more results than others of: ppo."
        rows = [self.GOOD, replace(self.GOOD, id="bad", seed=1, score=20.0, best_score=20.0)]
        lucky = [*rows, *(replace(self.GOOD, run=f"r{n}", steps=n) for n in range(1, 9))]
        assert note in stored(tmp_path, lucky).notes
        assert note in make_boards(tally_results(lucky))[0].notes

    def test_a_run_that_is_repeated_as_a_whole_needs_no_word(self, tmp_path):
        rows = [self.GOOD, replace(self.GOOD, id="bad", seed=1, score=20.0, best_score=20.0)]
        rows += [replace(one, run="b", steps=one.steps + 1) for one in rows]
        for board in (stored(tmp_path, rows), make_boards(tally_results(rows))[0]):
            assert not any("more results than others" in note for note in board.notes)


class TestNames:
    """Bad runs go under a name that looks like the same agent's, or a better one's."""

    @pytest.mark.parametrize(
        "other",
        ["PPO", "ppo ", "p\u200bpo", "ｐｐｏ", "p po", "ppo\ufeff", "P\u2009Po"]
        # Blank without being a space, and the letters of other alphabets.
        + ["ppo\u034f", "ppo\ufe0f", "pp\u3164o", "ppo\u2800", "p\u0440o", "\u03a1P\u039f"],
    )
    def test_look_alike(self, other, tmp_path):
        assert lookalikes(["ppo", other, "dqn"]) == [tuple(sorted(["ppo", other]))]
        rows = [result(), result(agent=other, score=30.0)]
        board = stored(tmp_path, rows)
        assert "Names that look alike are different agents here: " in " ".join(board.notes)
        assert ascii(other) in " ".join(board.notes)
        assert "2 of 2 agents have names that look like another's" in cautions(rows)

    def test_another_agent_under_the_name_is_no_comparison(self):
        """A better one lends its scores for some of the seeds."""
        plain, better = ({"agent": {"use": use}} for use in ("plain", "better"))
        other = results({ENV: [100.0, 110.0]}, agent="dqn")
        mixed = [result(score=20.0, extra=plain), result(seed=1, score=500.0, extra=better)]
        with pytest.raises(BenchError, match="different code or options: 2 in the first"):
            compare(mixed, other)
        compare(mixed, other, allow=["agents"])

    def test_others_are_left_alone(self):
        assert lookalikes(["ppo", "ppo2", "dqn", "ppo-2"]) == []


class TestFewerRuns:
    """Only the lucky seeds are handed in."""

    ROWS = [*results({ENV: [400.0, 300.0, 350.0]}), result(agent="lucky", score=500.0)]

    def test_is_said_on_boards(self, tmp_path):
        board = stored(tmp_path, self.ROWS)
        assert "Fewer results than others have on some task: lucky." in board.notes
        assert [row.scores[0].scored for row in board.rows] == [1, 3]

    def test_is_said_in_reports(self):
        text = cautions(self.ROWS, planned=6)
        assert (
            "1 of 2 agents have fewer runs that count than others on some environment: lucky"
            in text
        )
        assert "2 of 6 planned runs have no result" in text

    def test_lucky_seeds_are_no_comparison(self):
        sides = [[one for one in self.ROWS if one.agent == agent] for agent in ("lucky", "ppo")]
        with pytest.raises(
            BenchError, match="seeds are missing: on CartPole-v1 the first lacks 1, 2"
        ):
            compare(*sides)


class TestSelection:
    def test_seeds_that_others_did_not_have(self):
        rows = [*results({ENV: [400.0, 300.0]}), *results({ENV: [500.0, 500.0]}, agent="b")]
        assert "different seeds" not in cautions(rows)
        rows[-1] = replace(rows[-1], seed=4711)
        assert "On 1 of 1 environments the agents were run with different seeds." in cautions(rows)

    def test_two_agents_under_one_name(self):
        kinds = [{"use": "weak"}, {"use": "strong"}]
        rows = [result(seed=seed, extra={"agent": one}) for seed, one in enumerate(kinds)]
        told = "1 of 1 agents have results of different code or options under one name: ppo."
        assert told in cautions(rows)
        assert told not in cautions(rows[:1])

    def test_what_was_refuted_is_in_no_table(self):
        rows = [result(score=400.0), result(seed=1, score=500.0, verified="failed")]
        done = BenchRun(name="n", folder=Path(), suite=suite(), results=tuple(rows), planned=2)
        screen = io.StringIO()
        Console(file=screen, width=80).print(run_table(done))
        assert "400" in screen.getvalue()
        assert "450" not in screen.getvalue()


class TestForeignSuites:
    """A folder brings a suite that measures its scores kindly."""

    @pytest.fixture
    def run(self, tmp_path):
        run_suite(suite(), ["random"], out=tmp_path / "run", settings=RunSettings(engine="serial"))
        return tmp_path / "run"

    def test_references_that_were_changed_after_the_run(self, run):
        assert len(BenchFolder.open(run).own_results()) == 2
        plan = json.loads((run / "bench.json").read_text())
        plan["suite"]["environments"][0]["reference"]["max"] = 30.0
        (run / "bench.json").write_text(json.dumps(plan))
        with pytest.raises(BenchError, match="was changed after the run"):
            BenchFolder.open(run).own_results()

    @pytest.mark.parametrize(
        "row",
        [
            {"better": "lower"},
            {"reference": {"min": 500.0, "max": 20.0, "source": "x"}},
            {"floor": 499.0},
        ],
    )
    def test_directions_that_contradict_each_other(self, row):
        with pytest.raises(SuiteError):
            suite(**row)

    def test_a_name_that_is_taken(self, tmp_path):
        known = load_suite("classic")
        rows = [
            result(suite="classic", suite_digest=known.digest),
            result(suite="classic", suite_digest="0" * 64, id="other", agent="kind"),
        ]
        with open_store(tmp_path / "s.sqlite") as store:
            store.add(rows)
            found = {board.suite_digest: board for board in store.leaderboard()}
        told = "This is not the suite classic that comes with this Ludus."
        assert told in found["0" * 64].notes
        assert told not in found[known.digest].notes

    def test_a_scale_that_is_none_hides_no_other_board(self, tmp_path):
        narrow = suite(reference={"min": 0.0, "max": 1e-200, "source": "x"})
        own = suite()
        with open_store(tmp_path / "s.sqlite") as store:
            for one, name in ((narrow, "narrow"), (own, "own")):
                store.add_suite(one)
                store.add([result(suite="mine", suite_digest=one.digest, agent=name, id=name)])
            found = {board.rows[0].agent: board.ranked_by for board in store.leaderboard()}
        assert found == {"narrow": "mean rank", "own": "normalised score"}

    @pytest.mark.parametrize("kind", ["other content", "other name", "no suite", "no JSON"])
    def test_a_store_with_another_suite_under_the_digest(self, kind, tmp_path):
        own, kinder = suite(), suite(reference={"min": 0.0, "max": 30.0, "source": "x"})
        rows = [result(suite="mine", suite_digest=own.digest, score=25.0)]
        with open_store(tmp_path / "s.sqlite") as store:
            store.add(rows)
            store.add_suite(own)
            assert store.leaderboard()[0].ranked_by == "normalised score"
            content = {
                "other content": json.dumps(kinder.model_dump(mode="json", exclude_unset=True)),
                "other name": json.dumps({**own.model_dump(mode="json"), "name": "yours"}),
                "no suite": "[1, 2]",
                "no JSON": "{" * 100_000,
            }[kind]
            with store._database.writing() as connection:
                connection.exec_driver_sql("UPDATE ludus_suites SET content = ?", (content,))
            (board,) = store.leaderboard()
        assert (board.ranked_by, board.rows[0].value) == ("mean rank", 1.0)

    def test_words_of_a_result_about_itself_are_not_read(self, tmp_path):
        rows = [
            result(seed=seed, outcome="agent_fault", extra={"counted": 500.0, "normalised": 1.0})
            for seed in range(2)
        ]
        assert summarise(rows, references=SCALE)["ppo"].mean.value == 0
        row = stored(tmp_path, rows, references=PAIR).rows[0]
        assert (row.value, row.scores[0].mean) == (0.0, 20.0)


class TestNumbers:
    @pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize("name", ["score", "best_score"])
    def test_what_is_no_score(self, score, name):
        with pytest.raises(ValueError, match=f"{name} is wrong: a finite number is expected"):
            result(**{"best_score": 1.0, name: score})

    @pytest.mark.parametrize("name", ["steps", "episodes", "seconds", "cost"])
    def test_less_than_nothing_was_spent(self, name):
        with pytest.raises(ValueError, match=f"{name} is wrong"):
            result(**{name: -1})

    def test_scores_beyond_all_bounds(self):
        """They overflow no sum: an infinite mean would be the best of all."""
        rows = [*results({ENV: [1e308] * 4}), *results({ENV: [400.0] * 4}, agent="sound")]
        with np.errstate(all="raise"):
            found = summarise(rows, references=SCALE)
            sides = [[one for one in rows if one.agent == agent] for agent in ("ppo", "sound")]
            difference = compare(*sides, references=SCALE).tasks[0].difference
            (board,) = make_boards(tally_results(rows))
        assert found["ppo"].tasks[0].mean.value == LARGEST_SCORE
        assert difference.value == LARGEST_SCORE
        assert board.rows[0].scores[0].mean == LARGEST_SCORE
        assert "4 of 8 runs have a score beyond 1e+150" in cautions(rows)

    def test_no_zero_is_negative(self):
        found = summarise([result(score=-0.0)], references={ENV: Reference(-1.0, 0.0)})["ppo"]
        assert str(found.tasks[0].mean).startswith("0 ")


class TestFloors:
    def test_somebody_who_is_worse_does_not_drag_others_down(self, tmp_path):
        fault = [result(seed=seed, outcome="agent_fault") for seed in range(2)]
        puppet = [result(agent="puppet", seed=seed, score=-1e99) for seed in range(2)]
        alone = stored(tmp_path, fault, references=PAIR).rows[0]
        rows = stored(tmp_path, [*fault, *puppet], references=PAIR).rows
        assert [row.value for row in rows if row.agent == "ppo"] == [alone.value] == [0.0]

    def test_a_score_below_the_floor_is_the_floor_in_sql_too(self, tmp_path):
        own = suite(floor=-100.0)
        rows = [
            result(suite="mine", suite_digest=own.digest, seed=seed, score=score)
            for seed, score in enumerate([-900.0, 300.0])
        ]
        with open_store(tmp_path / "s.sqlite") as store:
            store.add_suite(own)
            store.add(rows)
            (board,) = store.leaderboard()
        assert board.rows[0].scores[0].mean == 100.0
        found = summarise(rows, references=own.references)["ppo"]
        assert found.tasks[0].mean.value == 100.0
        assert board.rows[0].value == pytest.approx(found.mean.value)

    def test_failing_pays_neither_the_worst_nor_the_best(self):
        """An agent's own worst score is its floor where the reference's end is better than it."""
        bad = results({ENV: [5.0, 10.0]})
        failing = [*bad[:1], result(seed=1, outcome="agent_fault")]
        means = [summarise(rows, references=SCALE)["ppo"].mean.value for rows in (bad, failing)]
        assert means[1] < means[0]

    def test_nothing_is_known_and_that_is_said(self, tmp_path):
        board = stored(tmp_path, [result(outcome="agent_fault")])
        assert board.rows[0].scores[0].mean is None
        assert "No floor and no reference are known for CartPole-v1" in " ".join(board.notes)


class TestCurves:
    """A run that rises and then fails is not drawn as one that rose."""

    RISING = [[0, 0.0], [10, 500.0]]

    def drawn(self, rows):
        sections = build_document(rows, references=PAIR).sections
        table = next((one for one in sections if one.anchor == "curves"), None)
        return table and [cell.content for cell in table.blocks[-1].rows[0]][2:]

    def test_ends_at_the_floor(self):
        fault = result(outcome="agent_fault", extra={"curve": self.RISING})
        assert self.drawn([fault]) == ["0", "20.00", "10.00", "20.00", "1 of 1"]

    def test_a_fault_without_a_curve_counts_too(self):
        rows = [result(extra={"curve": self.RISING}), result(seed=1, outcome="agent_fault")]
        assert self.drawn(rows) == ["0", "10.00", "10.00", "260.0", "2 of 2"]

    def test_what_does_not_count_is_not_drawn(self):
        rows = [
            result(verified="failed", extra={"curve": self.RISING}),
            result(seed=1, outcome="infrastructure_fault", extra={"curve": self.RISING}),
        ]
        assert self.drawn(rows) is None

    def test_one_that_is_too_long_is_told(self, monkeypatch):
        monkeypatch.setattr("ludus.bench.report.sections.curves._LONGEST", 3)
        rows = [
            result(extra={"curve": [[n, 500.0] for n in range(4)]}),
            result(seed=1, extra={"curve": self.RISING}),
        ]
        sections = build_document(rows, references=PAIR).sections
        section = next(one for one in sections if one.anchor == "curves")
        assert "1 curve could not be read" in section.blocks[0].parts[0]


def test_an_agent_that_is_called_baseline_in_a_report():
    """It would stand for the tasks' baseline, and nobody would be worse than it."""
    env = "mlgym/x-v0"
    rows = [result(agent="baseline", env=env, score=0.1), result(agent="weak", env=env, score=0.2)]
    section = next(
        one
        for one in build_document(rows, references={env: (0.5, 1.0)}).sections
        if one.anchor == "aup"
    )
    found = {row[0].content.text: row[2].content for row in section.blocks[-2].rows}
    assert (found["baseline"], found["weak"]) == ("0", "0")
    assert float(found["baseline (of the tasks)"]) > 0


class TestStoppedWhereItWasBest:
    """Budget and number of seeds of a bundled suite are chosen after a look at the scores."""

    SUITE = load_suite("classic")
    OWN = SUITE.budget_of(SUITE.environments[0])
    SHORT = OWN.changed(BudgetChange(max_steps=55, episodes=20))
    WORDS = f"Other budgets than those of the suite classic: {ENV} (episodes 20, max_steps 55)."

    def rows(self, budget, seeds=5):
        same = {"suite_digest": self.SUITE.digest, "budget": budget.canonical()}
        return [result(seed=seed, score=20.0 + seed, **same) for seed in range(seeds)]

    def test_is_said_on_boards(self, tmp_path):
        for options in ({}, {"verified_only": True}):
            (tmp_path / f"{len(options)}").mkdir()
            board = stored(tmp_path / f"{len(options)}", self.rows(self.SHORT), **options)
            assert self.WORDS in board.notes

    def test_is_said_in_reports(self):
        assert self.WORDS in cautions(self.rows(self.SHORT))

    def test_fewer_seeds_are_said_on_boards_and_in_reports(self, tmp_path):
        rows = self.rows(self.OWN, seeds=2)
        words = "Fewer results than the suite classic has seeds, which are 5, on some task: ppo."
        assert words in stored(tmp_path, rows).notes
        assert words in cautions(rows)

    def test_the_suites_own_budget_and_seeds_need_no_words(self, tmp_path):
        rows = self.rows(self.OWN)
        assert stored(tmp_path, rows).notes == ()
        assert "classic" not in cautions(rows)

    def test_another_limit_for_each_environment(self, tmp_path):
        """As a suite whose digest is the bundled one's, played and verified."""
        data = self.SUITE.changed(seeds=1, episodes=2).model_dump(exclude_unset=True)
        for row in data["environments"]:
            row["budget"] = {"max_steps": 300}
        chosen = suite_from(data, "test")
        assert chosen.digest == self.SUITE.digest
        rows = [
            result(env=row.id, suite_digest=chosen.digest, budget=chosen.budget_of(row).canonical())
            for row in chosen.environments
        ]
        (note,) = (one for one in stored(tmp_path, rows).notes if one.startswith("Other budgets"))
        assert note.count("(episodes 2, max_steps 300)") == len(rows)
