"""``ludus research``, ``ludus task run``, and ``ludus verify`` of episodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.cli.app import app
from ludus.research.model_server.policies import Call, by_step
from ludus.research.model_server.server import ModelServer
from tests.research.running.support import GOOD, GUESS, UNLIMITED, answers, set_answer, write_script

invoke = CliRunner(env={"COLUMNS": "200"}).invoke
LIMITS = ["--unlimited"] if UNLIMITED else []


def run(*words):
    return invoke(app, [str(word) for word in words])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLGYM_WORKSPACE_PATH", raising=False)
    monkeypatch.delenv("LUDUS_RESEARCH_DRAWS", raising=False)
    return tmp_path


def test_from_a_run_to_a_report(here):
    """Everything that the bench does with runs works with these."""
    pytest.importorskip("openai")
    script = [Call("shell", {"command": f"cat > guess.py <<'END'\n{GOOD}END"}), Call("submit")]
    with ModelServer(by_step({"Write guess.py": script})) as server:
        done = run(
            "research", "run", GUESS, "--agent", "react", "--model", "m", "--base-url",
            server.base_url, "--runs", 2, "--store", "s.db", "--name", "first", *LIMITS,
        )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "2 episodes: 2 scored, 0 agent faults, 0 infrastructure faults, 0 not done." in (
        done.stdout
    )
    assert "AUP of react-m" in done.stdout
    assert "run first in runs/first-1" in done.stdout
    assert "[2/2] react-m on mlgym/guessNumber-v0, seed" in done.stderr
    shown = run("research", "show", "runs/first-1")
    assert shown.exit_code == 0
    assert "submitted" in shown.stdout

    exported = run("research", "export", "runs/first-1", "--to", "jsonl")
    assert (exported.exit_code, "2 episodes in" in exported.output) == (0, True), exported.output
    rows = [json.loads(one) for one in Path("runs/first-1/episodes.jsonl").read_text().splitlines()]
    assert [len(row["calls"]) for row in rows] == [2, 2]
    again = run("research", "export", "runs/first-1", "--to", "jsonl")
    assert (again.exit_code, "exists" in again.output) == (2, True)
    assert run("research", "export", "runs/first-1", "--to", "atif").exit_code == 0

    untrusted = run("research", "verify", "runs/first-1", *LIMITS)
    assert (untrusted.exit_code, "2 claimed" in untrusted.output) == (0, True)
    assert "name it yourself" in " ".join(untrusted.output.split())
    trusting = ("--task", GUESS, *LIMITS)
    verified = run("research", "verify", "runs/first-1", "--store", "s.db", *trusting)
    assert (verified.exit_code, "2 verified, 0 claimed, 0 failed" in verified.output) == (
        0,
        True,
    )
    again = run("bench", "verify", "runs/first-1", "--no-replay")
    assert (again.exit_code, "2 claimed" in again.output) == (0, True)
    report = run("bench", "report", "runs/first-1")
    assert report.exit_code == 0, report.output
    assert "guessNumber" in Path("runs/first-1/report.md").read_text()
    board = run("leaderboard", "--store", "s.db")
    assert (board.exit_code, "react-m" in board.output) == (0, True)
    resumed = run("bench", "resume", "runs/first-1")
    assert (resumed.exit_code, "2 episodes: 2 scored" in resumed.output) == (0, True)

    record = next(Path("runs/first-1/records").iterdir())
    one = run("verify", record, "--task", GUESS, "--no-replay", "--json")
    assert one.exit_code == 0
    checks = {check["name"]: check["status"] for check in json.loads(one.output)["checks"]}
    assert checks["results"] == checks["spec"] == "passed"
    assert run("verify", record, "--no-replay").exit_code == 2


def test_agents_that_fail(here):
    script = write_script(here / "s.yaml", ["rm answer.json", "submit"])
    done = run(
        "research", "run", answers(here), "--agent", "scripted", "--agent-option",
        f"file={script}", "--runs", 1, "--out", "run", *LIMITS,
    )  # fmt: skip
    assert done.exit_code == 1
    assert "1 episodes: 0 scored, 1 agent faults" in done.output
    assert "answer.json is missing" in done.output


def test_a_person_at_work(here):
    done = invoke(
        app,
        ["research", "run", answers(here), "--agent", "human", "--runs", "1", "--out", "run",
         *LIMITS],
        input=f"{set_answer(0.9)}\nsubmit\n",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Write the answer to answer.json." in done.output
    assert "1 episodes: 1 scored" in done.output


def test_a_server_that_is_not_there(here, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("MLGYM_MODEL_MAX_RETRIES", "0")
    done = run(
        "research", "run", answers(here), "--agent", "react", "--model", "m", "--base-url",
        "http://127.0.0.1:9/v1", "--runs", 1, "--retries", 0, "--out", "run", *LIMITS,
    )  # fmt: skip
    assert done.exit_code == 2
    assert "cannot be reached" in done.output
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "noSuchTask", "--agent", "random"], "There is no task"),
        (["run", GUESS, "--agent", "reakt"], "Did you mean 'react'"),
        (["run", GUESS, "--agent", "react"], "give --model NAME"),
        (["run", GUESS, "--agent", "random", "--agent-option", "x"], "expected key=value"),
        (["run", GUESS, "--agent", "random", "--agent", "human", "--model", "m"], "a single agent"),
        (["run", GUESS, "--agent", "react", "--agent-config", "nowhere.yaml"], "cannot be read"),
        (
            ["run", GUESS, "--agent", "react", "--model", "m", "--agent-option", "templates=3"],
            "templates is 3",
        ),
        (["resume", "nowhere"], "There is no run"),
        (["verify", "nowhere"], "There is no run"),
        (["show", "nowhere"], "There is no run"),
    ],
)
def test_wrong_calls(here, words, message):
    done = run("research", *words)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not Path("runs").exists()


def test_help_teaches():
    text = run("research", "run", "--help").output
    assert "ludus research run battleOfSexes --agent react --model NAME" in text
    assert "ludus task run battleOfSexes" in run("task", "run", "--help").output


def test_a_solution_is_run(here):
    done = run("task", "run", GUESS, "--solution", "reference", "--json", *LIMITS)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["outcome"], told["metric"], told["exit_code"]) == ("scored", "guesses", 0)
    assert told["normalised"] > 1


def test_solutions_that_are_none(here):
    task = answers(here)
    (here / "mine").mkdir()
    call = ("task", "run", task, "--solution", "mine", *LIMITS)
    failed = run(*call, "--command", f"{set_answer(0.6)}; echo oops; exit 3")
    assert failed.exit_code == 1
    assert "0.6" in failed.stdout
    assert "oops" in failed.stderr
    assert "exit code 3" in failed.stderr
    refused = run(*call, "--command", "rm answer.json")
    assert refused.exit_code == 1
    assert "answer.json is missing" in refused.stderr
    assert run("task", "run", task, "--solution", "yours").exit_code == 2
    (here / "answers" / "grader" / "grade.py").write_text("def grade(*args):\n    1 / 0\n")
    broken = run(*call)
    assert broken.exit_code == 3
    assert "ZeroDivisionError" in broken.stderr
