"""The ReAct agent at work, over real HTTP, in real boxes, graded for real."""

from __future__ import annotations

import os
import sys

import pytest

from ludus.bench import RunLimits, RunSettings
from ludus.bench.running.folder import BenchFolder
from ludus.errors import DependencyNotInstalled, ModelServerError, ResearchError
from ludus.record import read_run
from ludus.research.model_server.policies import Break, Call, Fail, Say, Slow, by_step, in_order
from ludus.research.model_server.server import ModelServer
from ludus.research.running import job as job_module
from ludus.research.running import parse_agent, resume_research, run_research
from ludus.research.running.log import Log
from ludus.research.running.progress import standing
from ludus.research.running.verification import verify_research_run
from ludus.research.task.discovery import load_task
from tests.research.running.scripts import SCRIPTS, TASKS
from tests.research.running.support import (
    GOOD,
    GUESS,
    UNLIMITED,
    answers,
    fake_grade,
    in_child,
    kinds,
    options,
    record_of,
    set_answer,
    start,
    task_files,
    told,
)

pytest.importorskip("openai")

MARK = "Write the answer"
STEPS = [
    Call("shell", {"command": "cat answer.json"}, "I look."),
    Call("shell", {"command": f"{set_answer(0.8)}; n=1"}, "I try."),
    Call("validate"),
    Call("shell", {"command": f"{set_answer(0.9)}; echo $n"}, "Better."),
    Call("submit"),
]
QUICK = {"model": "scripted", "max_retries": 0}


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    return answers(tmp_path)


def test_the_games_and_titanic_are_solved_above_baseline(tmp_path):
    with ModelServer(by_step(SCRIPTS)) as server:
        done = run_research(
            TASKS,
            [parse_agent("react", {"model": server.model})],
            out=tmp_path / "run",
            runs=1,
            options=options(base_url=server.base_url),
            settings=RunSettings(workers=2),
        )
    assert done.exit_code == 0, [one.reason for one in done.results]
    assert len(done.results) == len(TASKS)
    for one in done.results:
        scale = load_task(one.env).scale
        assert scale.better(one.score, scale.baseline), one.env
        assert one.extra["normalised"] > 0
        assert one.extra["end"] == "submitted"
        assert one.extra["validations"] == (one.env == "mlgym/titanicSurvival-v0")
        assert one.extra["usage"]["calls"] >= one.steps
        assert one.extra["usage"]["prompt_tokens"] > 500
    events = read_run(tmp_path / "run" / done.results[0].record).events
    steps = [event.data for event in events if event.kind == "step"]
    assert steps[0]["thought"] == "First the rules."


@pytest.mark.parametrize("moment", ["act", "step", "grading", "result"])
def test_a_killed_conversation_goes_on_where_it_was(task, tmp_path, monkeypatch, moment):
    """Killed before the third event of a kind; another server answers afterwards."""
    real = Log._append
    prices = {"prices": {"scripted": {"input": 100, "output": 100}}}

    def deadly(self, kind, data):
        if kind == moment and (data.get("n", 2) == 2):
            os.kill(os.getpid(), 9)
        real(self, kind, data)

    with ModelServer(by_step({MARK: STEPS})) as server:
        calm = start(
            task, "react", tmp_path / "calm", agent_options={**QUICK, **prices},
            base_url=server.base_url,
        )  # fmt: skip

        def work():
            monkeypatch.setattr(Log, "_append", deadly)
            start(
                task, "react", tmp_path / "killed", agent_options={**QUICK, **prices},
                base_url=server.base_url,
            )  # fmt: skip

        assert in_child(work) == -9
    with ModelServer(by_step({MARK: STEPS})) as other:
        done = resume_research(
            tmp_path / "killed", base_url=other.base_url, settings=RunSettings(engine="serial")
        )
        asked = len(other.requests)
    assert done.exit_code == calm.exit_code == 0
    assert told(record_of(tmp_path / "killed")) == told(record_of(tmp_path / "calm"))
    # What was answered is not asked, or paid for, again.
    assert asked == {"act": 3, "step": 2, "grading": 2, "result": 0}[moment]
    assert done.results[0].extra["usage"]["calls"] == len(STEPS)
    assert done.results[0].cost == pytest.approx(calm.results[0].cost, rel=0.05)
    assert done.results[0].cost > 0


def test_a_broken_server_is_nobodys_fault_and_tried_again(task, tmp_path):
    """The conversation goes on when the server is back; nothing is lost."""
    # After each failure the first request is made again, to see whether the server is there.
    broken = [[fault, fault] for fault in (Fail(500), Break(), Fail(503))]
    script = [STEPS[0], *broken[0], *broken[1], STEPS[1], *broken[2], *STEPS[2:]]
    with ModelServer(in_order(script)) as server:
        done = start(
            task, "react", tmp_path / "run", agent_options=QUICK, base_url=server.base_url,
            settings=RunSettings(engine="serial", retries=2, backoff=0.01),
        )  # fmt: skip
        assert done.exit_code == 3
        (fault,) = done.results
        assert (fault.outcome, fault.score) == ("infrastructure_fault", None)
        assert "server failed 1 times" in fault.reason
        assert fault.extra["attempts"] == 3
        assert kinds(record_of(tmp_path / "run")).count("fault") == 3
        again = resume_research(
            tmp_path / "run", settings=RunSettings(engine="serial", backoff=0.01)
        )
    assert again.exit_code == 0
    (result,) = again.results
    assert result.score == pytest.approx(0.8)
    assert len(result.extra["faults"]) == 3
    assert result.steps == len(STEPS)


def test_without_any_server_nothing_begins(task, tmp_path):
    with pytest.raises(
        ModelServerError, match=r"127\.0\.0\.1:9/v1 cannot be reached: .*--base-url"
    ):
        start(
            task, "react", tmp_path / "run", agent_options=QUICK, base_url="http://127.0.0.1:9/v1"
        )
    assert not (tmp_path / "run").exists()


def test_without_a_key_or_a_package_nothing_begins(task, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelServerError, match="Set OPENAI_API_KEY"):
        start(task, "react", tmp_path / "run", agent_options=QUICK)
    with pytest.raises(ResearchError, match="needs the module 'no_such_module'"):
        start(task, "no_such_module.agents:make", tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "openai", None)
        with pytest.raises(DependencyNotInstalled, match="openai"):
            start(task, "react", tmp_path / "run", agent_options=QUICK, base_url="http://x/v1")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_needs_no_server(task, tmp_path):
    with ModelServer(by_step({MARK: STEPS})) as server:
        start(task, "react", tmp_path / "run", agent_options=QUICK, base_url=server.base_url)
    again = resume_research(tmp_path / "run", settings=RunSettings(engine="serial"))
    assert again.exit_code == 0


def test_the_time_of_the_model_is_no_working_time(task, tmp_path):
    slow = [Slow(0.6, one) for one in (STEPS[0], STEPS[1])]
    nap = Call("shell", {"command": "sleep 5"})
    with ModelServer(by_step({MARK: [*slow, nap, nap]})) as server:
        done = start(
            task, "react", tmp_path / "run", agent_options=QUICK, base_url=server.base_url,
            working_time=2.0,
        )  # fmt: skip
    (result,) = done.results
    assert (result.outcome, result.extra["end"]) == ("scored", "working_time")
    assert result.score == pytest.approx(0.7)
    assert result.seconds - result.extra["working_seconds"] >= 1.2
    assert result.extra["working_seconds"] >= 2.0
    assert result.steps == 3


def test_no_episode_begins_beyond_the_cost_of_all_together(task, tmp_path):
    prices = {"prices": {"scripted": {"input": 1000, "output": 1000}}}
    with ModelServer(by_step({MARK: STEPS})) as server:
        limited = RunSettings(engine="serial", limits=RunLimits(max_cost=0.5))
        done = start(
            task, "react", tmp_path / "run", agent_options={**QUICK, **prices}, runs=3,
            base_url=server.base_url, settings=limited,
        )  # fmt: skip
        assert done.exit_code == 4
        assert len(done.results) == 1
        assert "max_cost" in done.exhausted
        assert [one.rpartition(" ")[2] for one in done.open_units] == ["1", "2"]
        rest = resume_research(tmp_path / "run", settings=RunSettings(engine="serial"))
    assert (rest.exit_code, len(rest.results)) == (0, 3)


def test_the_cost_of_what_has_no_result_counts_too(task, tmp_path):
    """The first episode ends in a fault of the server; its money is spent."""
    prices = {"prices": {"scripted": {"input": 1000, "output": 1000}}}
    broken = [STEPS[0], Fail(500), Fail(500)]
    limited = RunSettings(engine="serial", retries=0, limits=RunLimits(max_cost=0.3))
    with ModelServer(in_order(broken)) as server:
        done = start(
            task, "react", tmp_path / "run", agent_options={**QUICK, **prices}, runs=2,
            base_url=server.base_url, settings=limited,
        )  # fmt: skip
        assert len(server.requests) == 3
    assert done.exit_code == 4
    assert done.results[0].outcome == "infrastructure_fault"
    (job,) = (tmp_path / "run" / "records").iterdir()
    assert standing(job).cost > 0.3


def test_limits_of_money_and_calls_end_with_a_grade(task, tmp_path):
    prices = {"scripted": {"input": 1000, "output": 1000}}
    with ModelServer(by_step({MARK: [STEPS[1], STEPS[0]]})) as server:
        dear = start(
            task, "react", tmp_path / "dear", agent_options={**QUICK, "prices": prices},
            base_url=server.base_url, cost_limit=8.0,
        )  # fmt: skip
        few = start(
            task, "react", tmp_path / "few", agent_options={**QUICK, "caps": {"calls": 2}},
            base_url=server.base_url,
        )  # fmt: skip
    for done, end in ((dear, ("cost", "cost_limit")), (few, ("call_limit",))):
        (result,) = done.results
        assert result.outcome == "scored", result.reason
        assert result.score == pytest.approx(0.7)
        assert result.extra["end"] in end
    assert 0 < dear.results[0].cost <= 8.0


def test_malformed_replies_and_a_full_context(task, tmp_path):
    with ModelServer(by_step({MARK: [STEPS[1], Say("Hm.")]})) as server:
        done = start(task, "react", tmp_path / "hm", agent_options=QUICK, base_url=server.base_url)
    assert done.results[0].extra["end"] == "malformed_replies"
    assert done.results[0].score == pytest.approx(0.7)
    flood = [Call("shell", {"command": "seq 3000"})] * 4
    with ModelServer(by_step({MARK: [*flood, *STEPS]}), context_tokens=2500) as server:
        done = start(
            task, "react", tmp_path / "flood", agent_options=QUICK, base_url=server.base_url
        )
    assert done.results[0].extra["end"] == "submitted"
    assert done.results[0].steps == 9


def test_a_run_is_verified_by_grading_again(tmp_path):
    """With the real grader of the sample task."""
    script = [
        Call("shell", {"command": f"cat > guess.py <<'END'\n{GOOD}END"}),
        Call("submit"),
    ]
    # One honest score in sixty is so lucky that fresh draws cannot tell: then another is played.
    for number in range(5):
        run = tmp_path / f"run{number}"
        with ModelServer(by_step({"Write guess.py": script})) as server:
            how = {"agent_options": QUICK, "base_url": server.base_url, "draws": "private"}
            start(GUESS, "react", run, **how)
        (found,) = verify_research_run(
            BenchFolder.open(run), tasks=task_files(run), unlimited=UNLIMITED
        )
        if found.result.verified == "verified":
            return
        assert "they spread too much to tell" in str(found.unchecked), found.problems
    raise AssertionError(found.unchecked)
