"""Several runs in one report, and several models in one run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.bench.comparing.merging import merge_runs
from ludus.cli.app import app
from ludus.errors import ComparisonRefused
from ludus.research.model_server.policies import Call, by_step
from ludus.research.model_server.server import ModelServer
from ludus.research.running import job as job_module
from tests.research.running.support import (
    UNLIMITED,
    answers,
    fake_grade,
    set_answer,
    start,
    write_script,
)

invoke = CliRunner(env={"COLUMNS": "80"}).invoke


@pytest.fixture
def two_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    task = answers(tmp_path)
    for name, answer in (("a", 1.1), ("b", 0.3)):
        script = write_script(tmp_path / "s.yaml", [set_answer(answer), "submit"])
        start(task, "scripted", tmp_path / name, runs=2, agent_options={"file": script})
    return tmp_path


def test_results_of_two_runs_count_together(two_runs, monkeypatch):
    monkeypatch.chdir(two_runs)
    done = invoke(app, ["research", "report", "a", "b", "--out", "r.html"])
    assert done.exit_code == 0, done.output
    assert "2/4" in done.output
    text = Path("r.md").read_text()
    assert "pass@4" in text
    assert "2 of 4" in text
    told = json.loads(invoke(app, ["research", "report", "a", "b", "--json"]).output)
    agent = told["agents"]["scripted"]
    assert (agent["pass_at"]["1"]["value"], agent["pass_at"]["2"]["value"]) == (
        0.5,
        pytest.approx(5 / 6),
    )
    assert [one["success"] for one in told["results"]] == [True, True, False, False]
    alone = json.loads(invoke(app, ["research", "show", "a", "--json"]).output)
    assert alone["agents"]["scripted"]["pass_every"]["2"]["value"] == 1.0
    assert alone["unfinished"] == {}


def test_what_does_not_belong_together_is_refused(two_runs):
    shutil.copytree(two_runs / "a", two_runs / "copy")
    with pytest.raises(ComparisonRefused, match="same record is in two"):
        merge_runs([two_runs / "a", two_runs / "copy"])
    script = write_script(two_runs / "t.yaml", ["submit"])
    task = str(two_runs / "answers")
    start(task, "scripted", two_runs / "other", agent_options={"file": script})
    with pytest.raises(ComparisonRefused, match="The agent scripted is not the same.*options"):
        merge_runs([two_runs / "a", two_runs / "other"])
    start(
        task, "scripted", two_runs / "short", agent_options={"file": str(two_runs / "s.yaml")},
        max_steps=3,
    )  # fmt: skip
    with pytest.raises(ComparisonRefused, match=r"environment mlgym/answers-v0 .* budget differ"):
        merge_runs([two_runs / "a", two_runs / "short"])
    done = invoke(app, ["research", "report", str(two_runs / "a"), str(two_runs / "b")])
    assert (done.exit_code, "--out" in done.output) == (2, True)


def test_several_models(tmp_path, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.chdir(tmp_path)
    script = [Call("shell", {"command": set_answer(0.9)}), Call("submit")]
    limits = ["--unlimited"] if UNLIMITED else []
    with ModelServer(by_step({"Write the answer": script})) as server:
        done = invoke(
            app,
            ["research", "run", answers(tmp_path), "--model", "A", "--model", "B", "--base-url",
             server.base_url, "--runs", "1", "--out", "run", *limits],
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        assert {one.body["model"] for one in server.requests} == {"A", "B"}
    results = merge_runs(["run"]).results
    assert sorted(one.agent for one in results) == ["react-A", "react-B"]
    none = invoke(app, ["research", "run", "x"])
    assert (none.exit_code, "There is no agent" in none.output) == (2, True)
    wrong = invoke(app, ["research", "run", "x", "--agent", "random", "--model", "A"])
    assert "has no option 'model'" in wrong.output
