"""Two models on three tasks, four runs each, killed twice and gone on with: nothing asked twice."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ludus.bench.engines import open_engine
from ludus.bench.running import runner
from ludus.bench.running.folder import BenchFolder
from ludus.cli.app import app
from ludus.record import fsck, read_run
from ludus.research.model_server.policies import Break, Call, Say
from ludus.research.model_server.server import ModelServer
from ludus.research.running import job as job_module
from ludus.research.running.conversation import read_calls
from tests.research.env_support import write_task
from tests.research.running.support import UNLIMITED, fake_grade, in_child, set_answer

pytest.importorskip("openai")

TASKS, MODELS, RUNS, CALLS = ("red", "green", "blue"), ("A", "B"), 4, 3
KILLED_AT = (17, 42)
"""Requests at which the run is killed: after a malformed reply, and after a good one."""
PATIENCE = 60


class Models:
    """Model A solves the task each time, model B every second time; both forget a call once.

    The process in the file ``pid`` is killed when a request comes that has a number of
    ``KILLED_AT``, once all answers before are in the records.
    """

    def __init__(self) -> None:
        self.answered: Counter[tuple[str, str, int]] = Counter()
        self.asked = 0

    def __call__(self, request):
        self.asked += 1
        if self.asked in KILLED_AT:
            end = time.monotonic() + PATIENCE
            while recorded() < self.answered.total() and time.monotonic() < end:
                time.sleep(0.01)
            os.kill(int(Path("pid").read_text()), signal.SIGKILL)
            return Break("nothing")
        model = request.body["model"]
        task = next(one for one in TASKS if f"in {one}" in request.messages[1]["content"])
        self.answered[model, task, request.step] += 1
        if request.step == 0:
            solved = model == "A" or self.answered[model, task, 0] % 2
            return Call("shell", {"command": set_answer(1.1 if solved else 0.3)})
        return Say("I am done.") if request.step == 1 else Call("submit")


def recorded() -> int:
    files = Path("run/records").glob("*/events.jsonl")
    return sum(file.read_text().count('"kind":"ask"') for file in files)


def research(*words) -> str:
    done = CliRunner().invoke(app, ["research", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done.output


def killed(*words) -> bool:
    """Run a command in a process of its own; return whether it was killed."""

    def work():
        Path("pid").write_text(str(os.getpid()))
        research(*words)

    code = in_child(work)
    assert code in (0, -signal.SIGKILL)
    return code != 0


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in TASKS:
        file = write_task(Path(name)) / "task.yaml"
        text = file.read_text().replace("id: answers", f"id: {name}Task")
        file.write_text(text.replace("to answer.json.", f"to answer.json, in {name}."))
    return [f"./{name}" for name in TASKS]


def test_killed_twice_and_gone_on_with(tasks, monkeypatch):
    """In one process, where the grader can be replaced by a quicker one."""
    monkeypatch.setattr(runner, "open_engine", lambda *_, **__: open_engine("serial"))
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    check_all_the_way(tasks)


def test_killed_twice_with_episodes_in_processes(tasks):
    check_all_the_way(tasks)


def check_all_the_way(tasks) -> None:
    models, limits = Models(), ["--unlimited"] if UNLIMITED else []
    with ModelServer(models) as server:
        how = ["--base-url", server.base_url, "--retries", 0, *limits]
        which = [word for model in MODELS for word in ("--model", model)]
        assert killed("run", *tasks, *which, "--runs", RUNS, "--out", "run", *how)
        assert killed("resume", "run", "--retries", 0)
        research("resume", "run", "--retries", 0)
        everything = dict.fromkeys(product(MODELS, TASKS, range(CALLS)), RUNS)
        assert models.answered == everything  # no call twice, none lost
        assert models.asked == sum(everything.values()) + len(KILLED_AT)
        research("run", *tasks, "--model", "A", "--runs", 1, "--seed", 9, "--out", "more", *how)

    folder = BenchFolder.open("run")
    results = folder.results()
    assert len(results) == len(MODELS) * len(TASKS) * RUNS
    for one in results:
        path = folder.path / one.record
        assert [call.n for call in read_calls(read_run(path))] == [0, 1, 1]
        assert one.extra["usage"]["calls"] == CALLS
        assert fsck(path).ok
    assert sum(one.extra["resumed"] for one in results) >= len(KILLED_AT)

    told = json.loads(research("report", "run", "more", "--out", "all.html", "--json"))
    a, b = told["agents"]["react-A"], told["agents"]["react-B"]
    assert (a["solved"], a["pass_at"]["1"]["value"], a["pass_every"]["5"]["value"]) == (15, 1, 1)
    assert (b["solved"], b["pass_at"]["1"]["value"]) == (6, 0.5)
    assert b["pass_at"]["2"]["value"] == pytest.approx(5 / 6)
    assert b["tasks"]["mlgym/redTask-v0"]["pass_every"]["4"]["value"] == 0
    assert "pass@4" in Path("all.md").read_text()
