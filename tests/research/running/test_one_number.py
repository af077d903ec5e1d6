"""One outcome, one number: a failing, a floor, a baseline and a good agent through every view."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from ludus.bench import RunSettings
from ludus.bench.planning.suite import load_suite, suites
from ludus.bench.report.write import build_document
from ludus.bench.result import Result
from ludus.bench.statistics import summarise
from ludus.bench.store import open_store
from ludus.cli.app import app
from ludus.cli.research_results import aup_lines, episodes_table, scores_table
from ludus.interop.atif import to_atif
from ludus.record import read_run
from ludus.research.running import parse_agent, run_research
from ludus.research.running.progress import EpisodeLines
from ludus.research.running.run import suite_of
from ludus.research.running.trajectory import trajectory_of_run
from ludus.research.task.discovery import find_tasks, load_task
from tests.research.running.support import GOOD, GUESS, options, write_script
from tests.research.support import SAMPLES

ENV = "mlgym/guessNumber-v0"
RUNS = 2
FLOOR, BASELINE, THRESHOLD = 28.0, 17.0, 6.0
"""Of the task; lower is better. Its null submission scores 32, beyond the bound of the scale."""


def put(text: str) -> str:
    return f"cat > guess.py <<'END'\n{text}END"


ACTIONS = {
    "basic": [put((SAMPLES / "guess_number" / "baseline" / "guess.py").read_text()), "submit"],
    "faulty": ["rm guess.py", "submit"],
    "floor": [put("def guess(low, high, answers):\n    return -1\n"), "submit"],
    "good": [put(GOOD), "submit"],
    "late": [put(GOOD), "validate", "rm guess.py; submit"],
}
"""The floor's agent scores like the null submission; the late one fails after a good validation."""
FAULTY = ("faulty", "late")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return the run, its store, and the lines that were printed meanwhile."""
    folder = tmp_path_factory.mktemp("one_number")
    specs = []
    for agent, actions in ACTIONS.items():
        script = write_script(folder / f"{agent}.yaml", actions)
        specs.append(parse_agent(f"{agent}=scripted", {"file": script}))
    screen = io.StringIO()
    lines = EpisodeLines(Console(file=screen, width=300))
    settings = RunSettings(engine="serial", store=str(folder / "s.sqlite"), progress=lines)
    done = run_research(
        [GUESS], specs, out=folder / "run", runs=RUNS, options=options(), settings=settings
    )
    return done, folder / "s.sqlite", screen.getvalue()


@pytest.fixture(scope="module")
def means(played):
    """Return each agent's mean, from the grades in the records and the task's floor."""
    found = {agent: [] for agent in ACTIONS}
    for one in played[0].results:
        steps = [e.data for e in read_run(played[0].folder / one.record).events if e.kind == "step"]
        score = steps[-1]["final"]["score"]
        assert (score is None) == (one.agent in FAULTY)
        found[one.agent].append(FLOOR if score is None else min(score, FLOOR))
    means = {agent: sum(scores) / RUNS for agent, scores in found.items()}
    assert means["faulty"] == means["late"] == means["floor"] == FLOOR
    assert FLOOR > means["basic"] > means["good"]
    return means


def scaled(score: float) -> float:
    return (score - BASELINE) / (THRESHOLD - BASELINE)


def text_of(table, width: int) -> str:
    screen = io.StringIO()
    Console(file=screen, width=width).print(table)
    return screen.getvalue()


def rows(table) -> list[dict[str, str]]:
    """Return the rows of a table, by column."""
    lines = [line for line in text_of(table, 200).splitlines() if "guessNumber" in line]
    names = [column.header for column in table.columns]
    found = [dict(zip(names, re.split(r"\s{2,}", line.strip()), strict=True)) for line in lines]
    assert all(len(line) <= 80 for line in text_of(table, 80).splitlines())
    return found


def invoke(*words, width: int = 80) -> str:
    done = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def test_lines_while_it_runs(played):
    wanted = [("28", f"{scaled(FLOOR):.3f}")] * RUNS
    for agent in FAULTY:
        fault = rf"\] {agent} on \S+ seed \d: agent fault, counts as (\S+), normalised (\S+):"
        assert re.findall(fault, played[2]) == wanted
    assert re.findall(r"\] floor on \S+ seed \d: (\S+), normalised (\S+) ", played[2]) == wanted


def test_table_of_episodes(played):
    found = rows(episodes_table(played[0].results, played[0].suite))
    worth = {
        agent: {(r["score"], r["scaled"]) for r in found if r["agent"] == agent}
        for agent in ACTIONS
    }
    assert worth["floor"] == {("28*", "-1.000")}
    assert worth["faulty"] == worth["late"] == {("28*", "-1.000")}
    assert {row["end"] for row in found if row["agent"] in FAULTY} == {"agent fault"}
    again = invoke("research", "show", played[0].folder)
    assert again.count("28*") == 3 * RUNS


def test_table_of_scores(played, means):
    found = {row["agent"]: row for row in rows(scores_table(played[0]))}
    for agent, mean in means.items():
        assert float(found[agent]["mean"]) == pytest.approx(mean, rel=1e-3)
        assert float(found[agent]["scaled"]) == pytest.approx(scaled(mean), abs=1e-3)
        assert found[agent]["n"] == f"{RUNS}/{RUNS}"
    assert (found["faulty"]["95 % interval"], found["faulty"]["faults"]) == ("–", f"{RUNS} agent")
    assert found["faulty"]["best"] == found["floor"]["best"] == "28"


def test_aup(played):
    """A fault is within no factor of the best; a good validation counts as an attempt only."""
    found = {
        name: (float(attempt), float(submission))
        for line in aup_lines(played[0])
        for name, attempt, submission in re.findall(
            r"AUP of (.*): attempt (.*), submission (.*)", line
        )
    }
    assert found["faulty"] == found["floor"] == (0.0, 0.0)
    assert found["late"][1] == 0.0 < found["baseline"][1] < found["good"][1]


def test_statistics(played, means):
    suite = played[0].suite
    found = summarise(played[0].results, references=suite.references, lower=suite.lower)
    for agent, mean in means.items():
        task = found[agent].tasks[0]
        assert task.mean.value == pytest.approx(mean)
        assert task.normalised.value == pytest.approx(scaled(mean))
        assert found[agent].mean.value == pytest.approx(scaled(mean))


def test_report(played, means, tmp_path):
    invoke("bench", "report", played[0].folder, "--out", tmp_path / "r.html")
    lines = (tmp_path / "r.md").read_text("utf-8").splitlines()
    tables = {
        agent: [line.split(" | ") for line in lines if line.startswith(f"| {agent} |")]
        for agent in ACTIONS
    }
    for agent, mean in means.items():
        overall, raw = (next(row for row in tables[agent] if len(row) == size) for size in (11, 8))
        assert float(overall[1]) == pytest.approx(scaled(mean), abs=1e-3)
        assert float(raw[1]) == pytest.approx(mean, rel=1e-3)
        assert float(raw[4]) == pytest.approx(scaled(mean), abs=1e-3)
    assert "a fault counts as 28.00" in "\n".join(lines)
    assert "<svg" in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize("agent", FAULTY)
def test_comparison(played, agent):
    run = played[0].folder
    text = invoke("bench", "compare", f"{run}@{agent}", f"{run}@floor", "--allow", "claimed")
    assert re.search(r"\s28\s+28\s+0\s+0\.5\s", text), text


def test_leaderboard(played, means):
    (board,) = json.loads(invoke("leaderboard", "--store", played[1], "--json"))
    assert board["ranked_by"] == "normalised score"
    for row in board["rows"]:
        assert row["value"] == pytest.approx(scaled(means[row["agent"]]))
        assert row["scores"][0]["mean"] == pytest.approx(means[row["agent"]])
    assert [row["agent"] for row in board["rows"]][:2] == ["good", "basic"]
    assert {row["position"] for row in board["rows"][2:]} == {3}
    narrow, wide = (invoke("leaderboard", "--store", played[1], width=w) for w in (80, 200))
    assert all(len(line) <= 80 for line in narrow.splitlines())
    assert wide.count(f"28 (n={RUNS}, {RUNS} faults)") == len(FAULTY)


def test_leaderboard_by_rank(played, means):
    """The same numbers where ranks decide; a tie goes to the agent that did not fail."""
    with open_store(played[1]) as store:
        (board,) = store.leaderboard(references={}, lower_is_better=[ENV], floors={ENV: FLOOR})
    assert board.ranked_by == "mean rank"
    for row in board.rows:
        assert row.scores[0].mean == pytest.approx(means[row.agent])
    values = {row.agent: row.value for row in board.rows}
    assert values["good"] < values["basic"] < values["floor"] < values["faulty"] == values["late"]


def test_lines_of_json(played, tmp_path):
    with open_store(played[1]) as store:
        store.export_jsonl(tmp_path / "all.jsonl")
    for line in (tmp_path / "all.jsonl").read_text("utf-8").splitlines():
        data = json.loads(line)
        counted = FLOOR if data["agent"] in FAULTY else min(data["score"], FLOOR)
        assert data["extra"]["counted"] == counted
        assert data["extra"]["normalised"] == pytest.approx(scaled(counted))
        assert Result.from_dict(data).extra["counted"] == counted


def test_trajectories_and_rewards(played):
    for one in played[0].results:
        trajectory = trajectory_of_run(played[0].folder / one.record)
        counted = FLOOR if one.agent in FAULTY else min(one.score, FLOOR)
        assert trajectory.scores == ({"guesses": counted},)
        assert trajectory.normalised == pytest.approx(scaled(counted))
        assert trajectory.graded == ("agent_fault" if one.agent in FAULTY else "scored")
        extra = to_atif(trajectory)["extra"]
        assert extra["scores"] == [{"guesses": counted}]
        assert (extra["graded"], extra["normalised_score"]) == (
            trajectory.graded,
            trajectory.normalised,
        )
        events = read_run(played[0].folder / one.record).events
        steps = [event.data for event in events if event.kind == "step"]
        assert sum(step["reward"] for step in steps) == pytest.approx(scaled(counted))


@pytest.mark.parametrize("agent", FAULTY)
def test_alone(played, agent, tmp_path):
    """What a fault counts as does not depend on who else is there."""
    done = replace(played[0], results=[one for one in played[0].results if one.agent == agent])
    (row,) = rows(scores_table(done))
    assert (row["mean"], row["scaled"], row["best"]) == ("28", "-1.000", "28")
    assert (
        aup_lines(done)[0] == f"AUP of {agent}: attempt 0.000, submission 0.000" or agent == "late"
    )
    with open_store(tmp_path / "s.sqlite") as store:
        store.add_suite(done.suite)
        store.add(done.results)
        ((row,),) = (board.rows for board in store.leaderboard())
    assert (row.value, row.scores[0].mean) == (pytest.approx(scaled(FLOOR)), FLOOR)
    document = build_document(done.results, references=done.suite.references)
    cell = next(one for one in document.sections if one.anchor == "environments").blocks[2].rows[0]
    assert [one.content for one in cell[1:5]] == ["28.00", "2 of 2", "–", "-1.000"]


def test_floors_of_the_suite_of_environments_are_those_of_the_tasks():
    """Its scores are normalised already; a fault counts as what the null submission gets."""
    suite = load_suite("research")
    scales = {task.env_id: task.scale for task in find_tasks().tasks}
    assert suite.floors.keys() == {row.id for row in suite.environments}
    for env, floor in suite.floors.items():
        assert floor == pytest.approx(scales[env].worst, rel=1e-8)
        assert floor < 0


def test_runs_of_several_tasks_are_not_called_like_it():
    tasks = [load_task(name) for name in ("blotto", "titanicSurvival")]
    made = suite_of(tasks, options(), [0])
    assert made.name not in suites()
    assert made.floors == {task.env_id: task.scale.least for task in tasks}
    old = suite_of(tasks, options(scale=1), [0])
    assert old.floors == {task.env_id: task.scale.floor for task in tasks}
