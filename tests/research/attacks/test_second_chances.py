"""Agents that want an episode played again, a grading done again, or a validation that is free."""

from __future__ import annotations

import json
import os

import pytest

from ludus.bench import RunSettings
from ludus.errors import RecordDamaged
from ludus.record import read_run
from ludus.record.format.event import Event
from ludus.research.running import job as job_module
from ludus.research.running import resume_research
from ludus.research.running.log import Log
from ludus.research.running.resuming import Checkpoints
from ludus.research.running.story import tell
from ludus.research.task.outcome import Outcome
from tests.research.env_support import FakeGrade, make, write_task
from tests.research.grading.support import boxed
from tests.research.running.support import (
    answers,
    fake_grade,
    in_child,
    kinds,
    record_of,
    set_answer,
    start,
    write_script,
)

pytestmark = boxed

ONCE = RunSettings(engine="serial", retries=0, backoff=0.01)
SERIAL = RunSettings(engine="serial", backoff=0.01)


@pytest.fixture
def drawn(tmp_path):
    """The file that tells what every grading of every life of a process drew."""
    return tmp_path / "drawn"


def noting(drawn, deadly=None):
    """Grade as usual, note the draws, and kill the process when a split is graded."""

    def make(policy, backend):
        grade = fake_grade(policy, backend)

        def noted(task, artefacts, split, seed, *, draw):
            with drawn.open("a") as file:
                file.write(json.dumps([split, draw]) + "\n")
            if split == deadly:
                os.kill(os.getpid(), 9)
            return grade(task, artefacts, split, seed, draw=draw)

        return noted

    return make


def all_drawn(drawn):
    return [tuple(json.loads(line)) for line in drawn.read_text().splitlines()]


@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_killed_grading_draws_the_same_again(tmp_path, monkeypatch, drawn, split):
    script = write_script(tmp_path / "s.yaml", [set_answer(0.9), "validate", "validate", "submit"])
    out, task = tmp_path / "run", answers(tmp_path)

    def work():
        monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(drawn, split))
        start(task, "scripted", out, agent_options={"file": script}, draws="private")

    assert in_child(work) == -9
    monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(drawn))
    assert resume_research(out, settings=SERIAL).exit_code == 0
    numbers = all_drawn(drawn)
    assert len(numbers) == 4
    assert len(set(numbers)) == 3
    # The nonce was there before anything was done.
    assert kinds(record_of(out))[:4] == ["open", "draws", "tree", "act"]
    assert kinds(record_of(out)).count("draws") == 1


def test_an_episode_that_begins_anew_keeps_its_nonce(tmp_path, monkeypatch, drawn):
    """Its outputs never come out again, so that it cannot be gone on with."""
    actions = ["date +%N", set_answer(0.9), "validate", "submit"]
    script = write_script(tmp_path / "s.yaml", actions)
    out, task = tmp_path / "run", answers(tmp_path)
    monkeypatch.setattr(Checkpoints, "save", lambda *args, **more: None)

    def work():
        monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(drawn, "validation"))
        start(task, "scripted", out, agent_options={"file": script}, draws="private")

    assert in_child(work) == -9
    monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(drawn))
    assert resume_research(out, settings=SERIAL).exit_code == 0
    (left,) = (out / "abandoned").iterdir()
    before, after = (tell(read_run(path).events).draws for path in (left, record_of(out)))
    assert before == after
    first, second, _ = all_drawn(drawn)
    assert first == second


def test_an_episode_that_was_killed_before_it_began_anew_keeps_its_nonce(
    tmp_path, monkeypatch, drawn
):
    actions = ["date +%N", set_answer(0.9), "validate", "submit"]
    script = write_script(tmp_path / "s.yaml", actions)
    out, task = tmp_path / "run", answers(tmp_path)
    monkeypatch.setattr(Checkpoints, "save", lambda *args, **more: None)

    def work():
        monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(drawn, "validation"))
        start(task, "scripted", out, agent_options={"file": script}, draws="private")

    def work_again():
        monkeypatch.setattr(Log, "draws", lambda *args: os.kill(os.getpid(), 9))
        resume_research(out, settings=SERIAL)

    assert in_child(work) == -9
    assert in_child(work_again) == -9
    monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(drawn))
    assert resume_research(out, settings=SERIAL).exit_code == 0
    first, second, _ = all_drawn(drawn)
    assert first == second


def test_a_variable_that_changes_meanwhile_changes_no_draw(tmp_path, monkeypatch, drawn):
    script = write_script(tmp_path / "s.yaml", [set_answer(0.9), "submit"])
    out, task = tmp_path / "run", answers(tmp_path)

    def work():
        monkeypatch.delenv("LUDUS_RESEARCH_DRAWS")
        monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(drawn, "test"))
        start(task, "scripted", out, agent_options={"file": script})

    assert in_child(work) == -9
    monkeypatch.setenv("LUDUS_RESEARCH_DRAWS", "public")
    monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(drawn))
    assert resume_research(out, settings=SERIAL).exit_code == 0
    first, second = all_drawn(drawn)
    assert first == second != ("test", 0)
    assert read_run(record_of(out)).manifest["subject"]["draws"] == "private"


AGENT = """\
import os

class Agent:
    usage = None
    def __init__(self, env=None):
        self.env, self.actions = env, iter({actions!r})
    def act(self, observation):
        {act}
        return next(self.actions)
{more}
"""
TRICKS = {
    "its environment": ("self.env.step('submit')", ""),
    "its environment's box": ("self.env.sandbox.close()", ""),
    "a cost that is no number": ("self.cost = float('nan')", ""),
    "a cost without end": ("self.cost = float('inf')", ""),
    "a cost that raises": ("", "    @property\n    def cost(self): raise OSError(28, 'full')"),
    "a cost of another kind": ("self.cost = 10**400", ""),
    "its usage": ("", "    @property\n    def usage(self): raise MemoryError"),
    "usage without end": (
        "import dataclasses; self.usage = dataclasses.make_dataclass('U', ['a'])('x' * (1 << 20))",
        "",
    ),
    "usage that is no data": (
        "import dataclasses; self.usage = dataclasses.make_dataclass('U', ['a'])(object())",
        "",
    ),
    "its end": ("", "    def close(self): raise OSError(28, 'No space left')"),
    "its state": ("", "    def get_state(self): raise OSError(28, 'No space left')"),
    "a thought": ("", "    @property\n    def thought(self): raise OSError(28, 'full')"),
    "an error of the sandbox": (
        "from ludus.errors import SandboxClosed; raise SandboxClosed('gone')",
        "",
    ),
    "an error of the bench": (
        "from ludus.bench.faults import InfrastructureFault; raise InfrastructureFault('sorry')",
        "",
    ),
    "an error of the model's server": (
        "from ludus.errors import ModelServerError; raise ModelServerError('down')",
        "",
    ),
    "a package that is missing": (
        "from ludus.errors import DependencyNotInstalled; raise DependencyNotInstalled('x')",
        "",
    ),
    "leaving": ("raise SystemExit(0)", ""),
    "leaving by another door": ("raise GeneratorExit", ""),
    "something that is no exception": ("raise type('Own', (BaseException,), {})", ""),
    "leaving in the end": ("", "    def close(self): raise SystemExit(0)"),
    "leaving when its state is kept": ("", "    def get_state(self): raise SystemExit(0)"),
    "leaving when its cost is asked": ("", "    @property\n    def cost(self): raise SystemExit"),
    "a full disk": ("raise OSError(28, 'No space left on device')", ""),
    "no memory": ("raise MemoryError", ""),
}


@pytest.mark.parametrize("what", TRICKS)
def test_an_agent_that_fails_in_whatever_way_is_no_fault_of_the_infrastructure(
    tmp_path, monkeypatch, what
):
    act, more = TRICKS[what]
    source = AGENT.format(actions=[set_answer(0.9), "submit"], act=act or "pass", more=more)
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    agent = f"me={tmp_path / 'mine.py'}:Agent"
    done = start(answers(tmp_path), agent, tmp_path / "run", settings=ONCE)
    (result,) = done.results
    # Graded as it is: with what it wrote, or with what was there where it wrote nothing.
    assert (result.outcome, result.extra["faults"]) == ("scored", [])
    assert result.score in (0.8, 0.0)


ODD = (
    "echo \0",
    "echo \ud800",
    "x" * 900_000,
    {"tool": "open", "arguments": {"path": "\0"}},
    {"tool": "create", "arguments": {"path": "x", "text": "\ud800\0"}},
    "mkdir $'\\xff\\xfe'; cd $'\\xff\\xfe'",
    'mkdir -p /tmp/.ludus; echo \'{"file": "\\ud800"}\' > /tmp/.ludus/open.json',
    "mkdir -p /tmp/.ludus; printf '[%.0s' $(seq 8000) > /tmp/.ludus/open.json",
    "cd /proc/self/fd; rm -rf /workspace",
)


@pytest.mark.parametrize("action", ODD, ids=range(len(ODD)))
def test_an_odd_action_is_no_fault_of_the_infrastructure(tmp_path, monkeypatch, action):
    source = AGENT.format(actions=[action, "submit"], act="pass", more="")
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    agent = f"me={tmp_path / 'mine.py'}:Agent"
    (result,) = start(answers(tmp_path), agent, tmp_path / "run", settings=ONCE).results
    assert result.outcome in ("scored", "agent_fault")
    assert result.extra["faults"] == []


def test_an_agent_whose_memory_cannot_be_put_back_chooses_again(tmp_path, monkeypatch):
    more = "    def get_state(self): return {}\n    def set_state(self, state): raise KeyError"
    source = AGENT.format(actions=[set_answer(0.9), "submit"], act="pass", more=more)
    (tmp_path / "mine.py").write_text(source)
    out, task = tmp_path / "run", answers(tmp_path)

    def work():
        monkeypatch.setattr(job_module, "graded_in_sandboxes", noting(tmp_path / "drawn", "test"))
        start(task, f"me={tmp_path / 'mine.py'}:Agent", out)

    assert in_child(work) == -9
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    done = resume_research(out, settings=ONCE)
    assert (done.results[0].outcome, done.results[0].score) == ("scored", 0.8)


def test_a_refused_validation_counts_and_is_not_repeated_when_the_episode_goes_on(
    tmp_path, monkeypatch
):
    graded = tmp_path / "graded"

    def refusing(deadly):
        def make(policy, backend):
            def grade(task, artefacts, split, seed, *, draw):
                with graded.open("a") as file:
                    file.write(f"{split}\n")
                if split == deadly:
                    os.kill(os.getpid(), 9)
                return Outcome("agent_fault", reason="HIDDEN", told="The submitted code was late.")

            return grade

        return make

    script = write_script(tmp_path / "s.yaml", ["validate", "true", "submit"])
    out, task = tmp_path / "run", answers(tmp_path)
    real = Checkpoints.save
    without = lambda self, name, owner, **more: (  # noqa: E731
        None if name.startswith("box") else real(self, name, owner, **more)
    )
    monkeypatch.setattr(Checkpoints, "save", without)

    def work():
        monkeypatch.setattr(job_module, "graded_in_sandboxes", refusing("test"))
        start(task, "scripted", out, agent_options={"file": script})

    assert in_child(work) == -9
    monkeypatch.setattr(job_module, "graded_in_sandboxes", refusing(None))
    done = resume_research(out, settings=SERIAL)
    # The recorded actions were taken again, and told the same.
    assert not (out / "abandoned").exists()
    assert graded.read_text().split() == ["validation", "test", "test"]
    assert done.results[0].extra["validations"] == 1
    outputs = [event.data.get("output", "") for event in read_run(record_of(out)).events]
    assert any("refused. The submitted code was late." in text for text in outputs)
    assert not any("HIDDEN" in text for text in outputs)


def test_a_fault_of_the_infrastructure_draws_the_same_again(tmp_path, monkeypatch, drawn):
    numbers = []

    class Failing(FakeGrade):
        def __call__(self, task, artefacts, split, seed, *, draw):
            numbers.append(draw)
            return super().__call__(task, artefacts, split, seed, draw=draw)

    with make(write_task(tmp_path / "answers"), grade=Failing(3), draws="private") as env:
        env.reset(seed=0)
        assert env.step("validate")[4]["validations"] == 0
        assert env.step("validate")[4]["validations"] == 1
    assert len(numbers) == 4
    assert len(set(numbers)) == 1


def test_what_graders_draw_from_cannot_be_told_later():
    def event(n, kind, data):
        return Event(n, kind, "2026-01-01T00:00:00.000000Z", data, "0" * 64, "0" * 64)

    nonce = ("draws", {"kind": "public", "nonce": ""})
    act = ("act", {"n": 0, "action": "ls"})
    assert tell([event(0, *nonce), event(1, *act)]).draws is not None
    for order in ([act, nonce], [nonce, nonce], [("draws", {"kind": "private", "nonce": "x"})]):
        with pytest.raises(RecordDamaged):
            tell([event(n, *one) for n, one in enumerate(order)])
