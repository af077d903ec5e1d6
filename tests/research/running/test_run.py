"""Runs of many episodes: workers, outcomes, stores, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ludus.bench import RunSettings
from ludus.bench.running.folder import BenchFolder
from ludus.bench.store import open_store
from ludus.errors import BenchError, ResearchError, TaskError
from ludus.record import read_run
from ludus.research.episode.terminal import Terminal
from ludus.research.running import is_research_run, parse_agent, resume_research, run_research
from ludus.research.running import job as job_module
from ludus.research.running.trajectory import trajectory_of_run
from ludus.research.task.outcome import Outcome
from tests.research.running.support import (
    GOOD,
    GUESS,
    SCRIPT,
    UNLIMITED,
    answers,
    fake_grade,
    kinds,
    options,
    record_of,
    set_answer,
    start,
    told,
    write_script,
)

SERIAL = RunSettings(engine="serial", retries=1, backoff=0.01)


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    return answers(tmp_path)


def played(task, tmp_path, actions, name="run", **fields):
    script = write_script(tmp_path / f"{name}.yaml", actions)
    return start(task, "scripted", tmp_path / name, agent_options={"file": script}, **fields)


def test_what_is_recorded(task, tmp_path):
    done = played(task, tmp_path, ["seq 5000", {"tool": "validate", "arguments": {}}, *SCRIPT])
    path = record_of(tmp_path / "run")
    reader = read_run(path)
    subject = reader.manifest["subject"]
    assert (reader.manifest["kind"], subject["task"], subject["agent"]) == (
        "research",
        "answers",
        "scripted",
    )
    steps = [event.data for event in reader.events if event.kind == "step"]
    assert "output" not in steps[0]
    assert steps[0]["head"].startswith("1\n2\n")
    assert steps[0]["tail"].endswith("5000\n")
    assert steps[0]["characters"] == len("".join(f"{n}\n" for n in range(1, 5001)))
    assert steps[1]["validation"] == 0.1
    assert steps[-1]["final"]["score"] == pytest.approx(0.8)
    assert sum(step["reward"] for step in steps) == pytest.approx(0.6)
    (result,) = done.results
    assert (result.score, result.best_score) == (pytest.approx(0.8), 0.9)
    assert result.extra["curve"] == [[2, 0.1], [5, 0.7], [7, 0.9]]
    assert (result.steps, result.extra["validations"]) == (8, 3)
    names = {event.data["path"] for event in reader.events if event.kind == "file"}
    assert all((path / name).is_file() for name in names)
    assert len(names) == 4
    assert steps[0]["output_file"] in names
    trajectory = trajectory_of_run(path)
    assert [step.action for step in trajectory.steps][-1] == "submit"
    assert trajectory.scores == ({"score": result.score},)
    assert (trajectory.outcome, trajectory.cost) == ("submitted", 0.0)


def test_ends_of_an_agent(task, tmp_path):
    """Whatever an agent does, what is there is graded; only no score is no score."""
    agents = """\
        FIRST = {first!r}

        class Agent:
            def __init__(self, how):
                self.how, self.first = how, True
            def act(self, observation):
                if self.first:
                    self.first = False
                    return FIRST
                if self.how == "raises":
                    raise RuntimeError("no idea")
                if self.how == "number":
                    return 17
                if self.how == "object":
                    return dict(tool="create", arguments=dict(text=object()))
                if self.how == "huge":
                    return "x" * (1 << 21)
                if self.how == "hangs":
                    import time
                    try:
                        time.sleep(60)
                    except Exception:
                        pass
        """
    (tmp_path / "mine.py").write_text(textwrap.dedent(agents).format(first=set_answer(0.9)))
    expected = {
        "raises": "agent_error",
        "number": "invalid_action",
        "object": "invalid_action",
        "huge": "invalid_action",
        "hangs": "time",
    }
    for how, end in expected.items():
        limit = {"time_limit": 1.0} if how == "hangs" else {}
        done = start(
            task, f"mine={tmp_path / 'mine.py'}:Agent", tmp_path / how,
            agent_options={"how": how}, **limit,
        )  # fmt: skip
        (result,) = done.results
        assert (result.outcome, result.extra["end"]) == ("scored", end), result.reason
        assert result.score == pytest.approx(0.8)
        assert result.steps == 1
        assert kinds(record_of(tmp_path / how))[-3:] == ["end", "result", "close"]


def test_faults_of_agents_are_results(task, tmp_path):
    done = played(task, tmp_path, ["rm answer.json", "submit"])
    (result,) = done.results
    assert (done.exit_code, result.outcome, result.score) == (1, "agent_fault", None)
    assert "answer.json is missing" in result.reason
    assert result.extra["normalised"] == -1.0
    (tmp_path / "broken.py").write_text("raise ImportError('gone')")
    done = start(task, f"{tmp_path / 'broken.py'}:Agent", tmp_path / "broken")
    assert done.results[0].outcome == "agent_fault"
    assert "cannot be made" in done.results[0].reason


def test_a_failing_grader_is_nobodys_fault(task, tmp_path, monkeypatch):
    failures = iter([True] * 4 + [False] * 9)

    def grade(policy, backend):
        def made(task, artefacts, split, seed, *, draw):
            if split == "test" and next(failures):
                return Outcome("infrastructure_fault", reason="the machine burns")
            return fake_grade(policy, backend)(task, artefacts, split, seed, draw=draw)

        return made

    monkeypatch.setattr(job_module, "graded_in_sandboxes", grade)
    script = write_script(tmp_path / "s.yaml")
    done = start(
        task, "scripted", tmp_path / "run", agent_options={"file": script}, settings=SERIAL
    )
    assert (done.exit_code, done.count("infrastructure_fault")) == (3, 1)
    assert done.results[0].score is None
    assert "burns" in done.results[0].reason
    again = resume_research(tmp_path / "run", settings=SERIAL)
    assert again.exit_code == 0
    assert again.results[0].score == pytest.approx(0.8)
    assert again.results[0].extra["faults"] == ["the machine burns"] * 2
    events = kinds(record_of(tmp_path / "run"))
    # Two tries each, in two attempts; the last one counts.
    assert events.count("fault") == 2
    assert [event.data["split"] for event in read_run(record_of(tmp_path / "run")).events
            if event.kind == "grading"].count("test") == 5  # fmt: skip


def test_a_lost_box_is_nobodys_fault(task, tmp_path, monkeypatch):
    """Its episode goes on in another box, from the last step."""
    real, lost = Terminal.run, []

    def run(self, text, timeout):
        if "0.9" in text and not lost:
            lost.append(text)
            self.sandbox.close("the power failed")
        return real(self, text, timeout)

    monkeypatch.setattr(Terminal, "run", run)
    done = played(task, tmp_path, SCRIPT)
    assert lost
    assert done.exit_code == 0
    (result,) = done.results
    assert len(result.extra["faults"]) == 1
    assert result.score == pytest.approx(0.8)
    played(task, tmp_path, SCRIPT, "calm")
    assert told(record_of(tmp_path / "run")) == told(record_of(tmp_path / "calm"))


def test_limits_of_steps(task, tmp_path):
    done = played(task, tmp_path, SCRIPT, max_steps=3)
    assert done.results[0].extra["end"] == "steps"
    assert done.results[0].score == pytest.approx(0.6)
    assert json.loads(done.results[0].budget)["max_steps"] == 3


def test_a_script_that_ends_without_submitting(task, tmp_path):
    done = played(task, tmp_path, SCRIPT[:-1])
    assert done.results[0].extra["end"] == "nothing_left"
    assert done.results[0].score == pytest.approx(0.8)


def test_several_workers_agents_and_a_store(tmp_path):
    """Real boxes, real grading, processes; the same scores as one after the other."""
    script = write_script(tmp_path / "good.yaml", [f"cat > guess.py <<'END'\n{GOOD}END", "submit"])
    agents = [
        parse_agent("good=scripted", {"file": script}),
        parse_agent("random", {"submit_after": 1}),
    ]
    done = run_research(
        [GUESS],
        agents,
        out=tmp_path / "run",
        runs=2,
        seed=5,
        name="two",
        options=options(),
        settings=RunSettings(workers=2, store=tmp_path / "s.db"),
    )
    assert done.exit_code == 0, [one.reason for one in done.results]
    scores = {(one.agent, one.seed): one.score for one in done.results}
    assert set(scores) == {(name, seed) for name in ("good", "random") for seed in (5, 6)}
    assert all(scores["good", seed] < 6 < scores["random", seed] for seed in (5, 6))
    assert is_research_run(tmp_path / "run")
    with open_store(tmp_path / "s.db") as store:
        assert {one.id for one in store.results(run="two")} == {one.id for one in done.results}
    again = resume_research(tmp_path / "run", settings=RunSettings(workers=2))
    assert again.results == done.results
    with pytest.raises(BenchError, match="There is a run in .* already"):
        run_research([GUESS], agents, out=tmp_path / "run", options=options())


def test_a_worker_that_its_agent_ends(tmp_path):
    """The process of an agent that calls ``os._exit`` is gone; that is the agent's fault."""
    (tmp_path / "quits.py").write_text(
        "import os\nclass Agent:\n    def act(self, observation):\n        os._exit(0)\n"
    )
    task = answers(tmp_path)
    done = start(
        task, f"quits={tmp_path / 'quits.py'}:Agent", tmp_path / "run",
        settings=RunSettings(workers=1),
    )  # fmt: skip
    (result,) = done.results
    assert (done.exit_code, result.outcome) == (1, "agent_fault")
    assert "ended its process" in result.reason
    assert kinds(record_of(tmp_path / "run"))[-2:] == ["result", "close"]


def test_a_worker_that_is_killed_is_replaced(tmp_path):
    """Its successor goes on with the episode, not with another one."""
    (tmp_path / "dies.py").write_text(
        f"""\
import os, pathlib, signal
class Agent:
    def __init__(self):
        self.n = 0
    def act(self, observation):
        self.n += 1
        flag = pathlib.Path({str(tmp_path / "flag")!r})
        if self.n == 3 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return ["date +%N > moment; cat moment", {set_answer(0.9)!r}, "cat moment", "submit"][
            self.n - 1
        ]
    def get_state(self):
        return {{"n": self.n}}
    def set_state(self, state):
        self.n = state["n"]
"""
    )
    done = start(
        answers(tmp_path), f"dies={tmp_path / 'dies.py'}:Agent", tmp_path / "run",
        settings=RunSettings(workers=1, backoff=0.01),
    )  # fmt: skip
    (result,) = done.results
    assert (done.exit_code, result.extra["resumed"]) == (0, 1), result.reason
    steps = [e.data for e in read_run(record_of(tmp_path / "run")).events if e.kind == "step"]
    assert steps[0]["output"] == steps[2]["output"]
    assert len(steps) == 4


COMMAND = """\
import sys
from ludus.cli.app import app
app(["research", *sys.argv[1:]])
"""


def cli(*words):
    return [sys.executable, "-c", COMMAND, *map(str, words)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_real_run_is_ended_and_goes_on(tmp_path, number):
    """Ctrl-C, or a kill of the whole command; workers and boxes end with it, the rest is kept."""
    script = write_script(
        tmp_path / "s.yaml",
        ["sleep 0.3; echo 1 > n", f"cat > guess.py <<'END'\n{GOOD}END", "cat n", "submit"],
    )
    out = tmp_path / "run"
    words = ["run", GUESS, "--agent", "scripted", "--agent-option", f"file={script}", "--runs", 2]
    words += ["--out", out, "--backend", "bubblewrap", *(["--unlimited"] if UNLIMITED else [])]
    process = subprocess.Popen(cli(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _wait_for(lambda: any(b'"kind":"step"' in file.read_bytes()
                          for file in out.glob("records/*/events.jsonl")))  # fmt: skip
    os.kill(process.pid, number)
    printed, errors = process.communicate(timeout=30)
    assert process.returncode == (130 if number == signal.SIGINT else -9), errors
    if number == signal.SIGINT:
        assert b"Continue with: ludus research resume" in errors
        assert b"2 episodes: 0 scored" in printed
    done = subprocess.run(cli("resume", out), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert b"2 episodes: 2 scored" in done.stdout
    resumed = [one.extra["resumed"] for one in BenchFolder.open(out).results()]
    assert sum(resumed) >= 1
    assert all(one.score < 6 for one in BenchFolder.open(out).results())


def _wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_is_refused_before_anything_is_begun(task, tmp_path):
    agent = parse_agent("random", {})
    for tasks, agents, error, words in (
        (["noSuchTask"], [agent], TaskError, "There is no task"),
        ([task, task], [agent], ResearchError, "named twice"),
        ([], [agent], ResearchError, "no task"),
        ([task], [], ResearchError, "no agent"),
        ([task], [agent, agent], ResearchError, "Two agents are called random"),
        (
            [task],
            [parse_agent("scripted", {"file": str(tmp_path / "none.yaml")})],
            ResearchError,
            "cannot be read",
        ),
    ):
        with pytest.raises(error, match=words):
            run_research(tasks, agents, out=tmp_path / "run", options=options())
        assert not Path(tmp_path / "run").exists()
    with pytest.raises(BenchError, match="There is no run"):
        resume_research(tmp_path / "run")
