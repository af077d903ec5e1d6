"""Episodes that are killed and gone on with end as undisturbed ones do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ludus.bench import RunSettings
from ludus.bench.running.folder import BenchFolder
from ludus.record import verify
from ludus.record.run.journal import Journal
from ludus.record.run.run import Run
from ludus.research.episode.episode import ResearchEpisode
from ludus.research.episode.terminal import Terminal
from ludus.research.running import job as job_module
from ludus.research.running import resume_research
from ludus.research.running.log import Log
from ludus.research.running.resuming import Checkpoints
from tests.research.running.support import (
    SCRIPT,
    Moments,
    answers,
    fake_grade,
    in_child,
    kinds,
    record_of,
    start,
    told,
    write_script,
)
from tests.sampling import ALL

SERIAL = RunSettings(engine="serial", backoff=0.01)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A task, a script, and grading without boxes."""
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    return answers(tmp_path), write_script(tmp_path / "script.yaml"), tmp_path


@pytest.fixture
def undisturbed(place):
    task, script, folder = place
    done = start(task, "scripted", folder / "calm", agent_options={"file": script})
    assert done.exit_code == 0
    return told(record_of(folder / "calm")), done.results[0]


def watch(monkeypatch, moments):
    for owner, name in (
        (Journal, "append_all"),
        (Checkpoints, "save"),
        (Terminal, "run"),
        (ResearchEpisode, "execute"),
        (Log, "grading"),
        (Run, "close"),
        (BenchFolder, "write"),
    ):
        moments.around(monkeypatch, owner, name)


def same(result, other):
    fields = ("id", "outcome", "score", "best_score", "steps", "cost", "reason")
    assert [getattr(result, name) for name in fields] == [getattr(other, name) for name in fields]
    ours, theirs = dict(result.extra), dict(other.extra)
    for name in ("resumed", "working_seconds"):
        ours.pop(name), theirs.pop(name)
    assert ours == theirs


def killed_at(moment, out, task, script, monkeypatch):
    def work():
        watch(monkeypatch, Moments(moment))
        start(task, "scripted", out, agent_options={"file": script})

    return in_child(work)


def test_killed_at_many_moments(place, undisturbed, monkeypatch):
    task, script, folder = place
    expected, result = undisturbed
    count = Moments()
    with monkeypatch.context() as patched:
        watch(patched, count)
        start(task, "scripted", folder / "counted", agent_options={"file": script})
    assert count.count > 90
    kinds_of_moments = {name: count.names.index(name) for name in count.names}
    for moment in sorted({*kinds_of_moments.values(), *range(1, count.count, 12 if ALL else 40)}):
        out = folder / f"killed-{moment}"
        assert killed_at(moment, out, task, script, monkeypatch) == -9
        done = resume_research(out, settings=SERIAL)
        assert done.exit_code == 0, count.names[moment]
        assert told(record_of(out)) == expected, count.names[moment]
        same(done.results[0], result)
        assert not list((out / "checkpoints").glob("*"))
        assert not (out / "abandoned").exists()
        assert not verify(record_of(out)).failed


def test_killed_again_and_again(place, undisturbed, monkeypatch):
    """Every life of the process gets a little further than the one before."""
    task, script, folder = place
    expected, result = undisturbed
    out = folder / "often"
    assert killed_at(30, out, task, script, monkeypatch) == -9

    def work():
        # Going on takes a few moments itself.
        watch(monkeypatch, Moments(22))
        resume_research(out, settings=SERIAL)

    lives = 1
    while (code := in_child(work)) == -9:
        lives += 1
        assert lives < 20
    assert code == 0
    assert lives > 3
    assert told(record_of(out)) == expected
    done = resume_research(out, settings=SERIAL)
    same(done.results[0], result)
    assert done.results[0].extra["resumed"] == lives


def test_a_killed_grading_is_done_again_and_to_be_seen(place, undisturbed, monkeypatch):
    task, script, folder = place
    out = folder / "graded"

    def deadly(policy, backend):
        grade = fake_grade(policy, backend)

        def wrapped(task, artefacts, split, seed, *, draw):
            if split == "test":
                os.kill(os.getpid(), 9)
            return grade(task, artefacts, split, seed, draw=draw)

        return wrapped

    def work():
        monkeypatch.setattr(job_module, "graded_in_sandboxes", deadly)
        start(task, "scripted", out, agent_options={"file": script})

    assert in_child(work) == -9
    resume_research(out, settings=SERIAL)
    path = record_of(out)
    assert kinds(path)[-7:] == ["grading", "resume", "grading", "tested", "step", "result", "close"]
    assert told(path) == undisturbed[0]


def test_without_a_kept_workspace_the_actions_are_taken_again(place, undisturbed, monkeypatch):
    task, script, folder = place
    out = folder / "large"
    monkeypatch.setattr("ludus.research.running.resuming.LARGEST", 10)
    real = Checkpoints.save

    def forgetful(self, name, owner, **more):
        made = real(self, name, owner, **more)
        return None if name.startswith("box") else made

    monkeypatch.setattr(Checkpoints, "save", forgetful)
    assert killed_at(79, out, task, script, monkeypatch) == -9
    done = resume_research(out, settings=SERIAL)
    assert told(record_of(out)) == undisturbed[0]
    assert kinds(record_of(out)).count("grading") == 3
    same(done.results[0], undisturbed[1])


AGENT = """\
class Forgetful:
    '''Has no state to be saved, but does the same each time.'''
    def __init__(self):
        self.actions = iter({script!r})
    def act(self, observation):
        return next(self.actions)
"""


def test_an_agent_without_a_memory_has_to_choose_the_same_again(place, monkeypatch):
    task, _, folder = place
    (folder / "mine.py").write_text(AGENT.format(script=SCRIPT))
    agent = f"mine={folder / 'mine.py'}:Forgetful"
    start(task, agent, folder / "calm")
    out = folder / "killed"

    def work():
        watch(monkeypatch, Moments(60))
        start(task, agent, out)

    assert in_child(work) == -9
    assert resume_research(out, settings=SERIAL).exit_code == 0
    assert told(record_of(out)) == told(record_of(folder / "calm"))


def test_what_does_not_come_out_again_begins_anew(place, monkeypatch):
    """The clock's output is another one each time, and no workspace was kept."""
    task, _, folder = place
    script = write_script(folder / "clock.yaml", ["date +%N", *SCRIPT])
    out = folder / "killed"
    monkeypatch.setattr(Checkpoints, "save", lambda *args, **more: None)
    assert killed_at(70, out, task, script, monkeypatch) == -9
    done = resume_research(out, settings=SERIAL)
    assert done.exit_code == 0
    assert kinds(record_of(out)).count("resume") == 0
    (left,) = (out / "abandoned").iterdir()
    assert "step 0 had another output" in (left / "why.txt").read_text()
    assert kinds(left)[:5] == ["open", "draws", "tree", "act", "step"]


def test_a_changed_checkpoint_is_not_used(place, undisturbed, monkeypatch):
    task, script, folder = place
    out = folder / "changed"
    assert killed_at(60, out, task, script, monkeypatch) == -9
    for file in (out / "checkpoints").glob("*/box-*"):
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert resume_research(out, settings=SERIAL).exit_code == 0
    assert told(record_of(out)) == undisturbed[0]


def test_a_changed_task_is_not_gone_on_with(place, monkeypatch):
    task, script, folder = place
    out = folder / "killed"
    assert killed_at(60, out, task, script, monkeypatch) == -9
    grader = Path(task, "grader", "grade.py")
    grader.write_text(f"{grader.read_text()}# easier\n")
    settings = RunSettings(engine="serial", retries=0)
    done = resume_research(out, settings=settings)
    assert done.exit_code == 3
    assert "is not what it was" in done.results[0].reason
