"""One outcome, one number, for suites of environments: every view of the same results agrees."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from ludus.bench.comparing.comparison import compare
from ludus.bench.outcome import counted_score, fault_floor, normalised_score
from ludus.bench.planning.suite import suite_from
from ludus.bench.report.write import build_document
from ludus.bench.running.runner import BenchRun
from ludus.bench.statistics import summarise
from ludus.bench.store import open_store
from ludus.bench.store.board import tally_results
from ludus.bench.store.leaderboard import make_boards, scale_of
from ludus.cli.results import run_table
from ludus.errors import SuiteError
from tests.bench.some_results import result
from tests.bench.stating import some_key, stated

ENV = "Race-v0"
LOST = "infrastructure_fault"
KINDS = {
    "declared": {"reference": {"min": 20.0, "max": 500.0, "source": "x"}, "floor": -100.0},
    "zero": {"reference": {"min": 20.0, "max": 500.0, "source": "x"}},
    "lower": {
        "better": "lower",
        "reference": {"min": 60.0, "max": 10.0, "source": "x"},
        "floor": 300.0,
    },
    "unscaled": {"floor": -100.0},
    "unscaled, lower": {"better": "lower", "floor": 300.0},
    "nothing": {},
}
SCORES = {
    "declared": {"floor": -100.0, "baseline": 20.0, "good": 400.0},
    "zero": {"floor": 20.0, "baseline": 25.0, "good": 400.0},
    "lower": {"floor": 300.0, "baseline": 60.0, "good": 12.0},
    "unscaled": {"floor": -100.0, "baseline": 20.0, "good": 400.0},
    "unscaled, lower": {"floor": 300.0, "baseline": 60.0, "good": 12.0},
    "nothing": {"floor": -100.0, "baseline": 20.0, "good": 400.0},
}
SEEDS = 4


@pytest.fixture(params=sorted(KINDS))
def case(request):
    """Return a suite, its results, and what each agent's mean is."""
    suite = suite_from(
        {
            "name": "mine",
            "seeds": SEEDS,
            "budget": {"episodes": 10},
            "environments": [{"id": ENV, **KINDS[request.param]}],
        },
        "test",
    )
    about = {"suite": "mine", "suite_digest": suite.digest, "env": ENV}
    scores = SCORES[request.param]
    found = [
        result(agent=agent, seed=seed, score=score, **about)
        for agent, score in scores.items()
        for seed in range(SEEDS)
    ]
    for seed in range(SEEDS):
        found.append(result(agent="faulty", seed=seed, outcome="agent_fault", **about))
        found.append(result(agent="lost", seed=seed, outcome="infrastructure_fault", **about))
    return suite, found, {**scores, "faulty": scores["floor"]}


def boards(suite, found):
    scale = scale_of(suite)
    (board,) = make_boards(tally_results(found, lambda *_: scale), scale=lambda *_: scale)
    return board


def told(table, width=80) -> str:
    screen = io.StringIO()
    Console(file=screen, width=width).print(table)
    assert all(len(line) <= width for line in screen.getvalue().splitlines())
    return screen.getvalue()


def test_statistics_and_table(case):
    suite, found, means = case
    summaries = summarise(
        found, references=suite.references, lower=suite.lower, floors=suite.floors
    )
    done = BenchRun(name="n", folder=Path(), suite=suite, results=tuple(found), planned=20)
    lines = {
        line.split()[1]: line.split() for line in told(run_table(done)).splitlines() if ENV in line
    }
    for agent, mean in means.items():
        task = summaries[agent].tasks[0]
        assert (task.mean.value, task.mean.n) == (pytest.approx(mean), SEEDS)
        assert float(lines[agent][2]) == pytest.approx(mean)
        if ENV in suite.references:
            scaled = float(suite.references[ENV].scale(mean))
            assert task.normalised.value == pytest.approx(scaled)
            assert f"{scaled:.3f}" in lines[agent]
    assert summaries["faulty"].tasks[0].mean.interval is None
    assert summaries["lost"].tasks[0].mean is None
    assert lines["lost"][2:4] == ["–", "–"]
    assert "0/4" in lines["lost"]


def test_report(case):
    suite, found, means = case
    options = {"references": suite.references, "lower": suite.lower, "floors": suite.floors}
    sections = {one.anchor: one for one in build_document(found, **options).sections}
    table = sections["environments"].blocks[2]
    raw = {row[0].content.text: [cell.content for cell in row] for row in table.rows}
    for agent, mean in means.items():
        assert float(raw[agent][1]) == pytest.approx(mean)
        if ENV in suite.references:
            assert float(raw[agent][4]) == pytest.approx(
                float(suite.references[ENV].scale(mean)), abs=1e-3
            )
    assert raw["faulty"][3] == "–"
    assert raw["lost"][1] == "–"
    faults = " ".join(str(block.caption) for block in sections["failures"].blocks)
    assert "Agent faults: 4 of 20 runs" in faults
    assert "Infrastructure faults: 4 of 20 runs" in faults


def test_leaderboards(case, tmp_path):
    """Made of results, and in the store's SQL."""
    suite, found, means = case
    found = [one if one.outcome != LOST else one.marked("claimed") for one in found]
    with open_store(tmp_path / "s.sqlite", trusted_keys=[some_key().public]) as store:
        store.add_suite(suite)
        store.add(found)
        store.add_statements(stated(found))
        (stored,) = store.leaderboard()
    made = boards(suite, found)
    assert stored == made
    values = {row.agent: row for row in made.rows}
    for agent, mean in means.items():
        assert values[agent].scores[0].mean == pytest.approx(mean)
    worst, floor = values["faulty"], values["floor"]
    if ENV in suite.references:
        assert worst.value == floor.value < values["baseline"].value
        assert worst.value == pytest.approx(float(suite.references[ENV].scale(means["faulty"])))
    else:
        assert made.ranked_by == "mean rank"
        assert worst.value > floor.value > values["baseline"].value
    assert (values["lost"].value, values["lost"].infrastructure_faults) == (None, SEEDS)


def test_comparison(case):
    suite, found, means = case
    options = {"references": suite.references, "lower": suite.lower, "floors": suite.floors}
    sides = {agent: [one for one in found if one.agent == agent] for agent in means}
    equal = compare(sides["faulty"], sides["floor"], **options).tasks[0]
    assert (equal.a.value, equal.difference.value) == (pytest.approx(means["faulty"]), 0)
    assert equal.improvement.value == 0.5
    if "floor" in suite.environments[0].model_fields_set or ENV in suite.references:
        worse = compare(sides["faulty"], sides["baseline"], **options).tasks[0]
        assert worse.a.value == pytest.approx(means["faulty"])
        assert worse.improvement.value == 0


def test_a_suite_without_floors_is_what_it_was():
    """Its digest was made before there were floors, and results name it."""
    rows = [{"id": "CartPole-v1", "reference": {"min": 20.0, "max": 500.0, "source": "x"}}]
    given = {"name": "mine", "budget": {"episodes": 1}, "environments": rows}
    digest = "e3bba1eceb7c"
    assert suite_from(given, "test").digest[:12] == digest
    rows[0]["floor"] = 0.0
    assert suite_from(given, "test").digest[:12] != digest


@pytest.mark.parametrize(
    "row", [{"floor": 21.0}, {"floor": float("nan")}, {"better": "lower", "floor": 1.0}]
)
def test_floors_that_are_none(row):
    ends = (20.0, 500.0) if row.get("better") != "lower" else (500.0, 20.0)
    reference = {"min": ends[0], "max": ends[1], "source": "x"}
    rows = [{"id": ENV, "reference": reference, **row}]
    given = {"name": "mine", "budget": {"episodes": 1}, "environments": rows}
    with pytest.raises(SuiteError, match="floor"):
        suite_from(given, "test")


class TestCountedScore:
    @pytest.mark.parametrize(
        ("outcome", "score", "floor", "lower", "counted"),
        [
            ("scored", 5.0, None, False, 5.0),
            ("scored", 5.0, 0.0, False, 5.0),
            ("scored", -5.0, 0.0, False, 0.0),
            ("scored", 5.0, 0.0, True, 0.0),
            ("scored", -5.0, 0.0, True, -5.0),
            ("agent_fault", None, 0.0, False, 0.0),
            ("agent_fault", None, None, False, None),
            ("agent_fault", 99.0, 0.0, False, 0.0),
            ("infrastructure_fault", None, 0.0, False, None),
            ("scored", 1e308, None, False, 1e150),
            ("scored", -1e308, None, True, -1e150),
        ],
    )
    def test_values(self, outcome, score, floor, lower, counted):
        assert counted_score(outcome, score, floor=floor, lower=lower) == counted

    def test_normalised(self):
        assert normalised_score("scored", 260.0, zero=20.0, one=500.0, floor=None) == 0.5
        assert normalised_score("agent_fault", None, zero=20.0, one=500.0, floor=-220.0) == -0.5
        assert normalised_score("agent_fault", None, zero=60.0, one=10.0, floor=160.0) == -2
        zero = normalised_score("agent_fault", None, zero=60.0, one=10.0, floor=None)
        assert json.dumps(zero) == "0.0"  # and not -0.0

    def test_floors(self):
        rules = {"own": [3.0], "seen": [1.0, 3.0]}
        assert fault_floor(declared=9.0, zero=2.0, **rules) == 9.0
        assert fault_floor(declared=None, zero=2.0, **rules) == 2.0
        assert fault_floor(declared=None, zero=5.0, **rules) == 3.0
        assert fault_floor(declared=None, zero=2.0, lower=True, **rules) == 3.0
        assert fault_floor(declared=None, zero=None, **rules) == 1.0
        assert fault_floor(declared=None, zero=None, own=[], seen=[]) is None
