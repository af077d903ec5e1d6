"""Agents that want their episode begun anew: with fresh steps, validations and time, or until the
test goes well.

They make a checkpoint impossible by a pipe, taking the actions again by ``date``, and let a fault
of the infrastructure follow, which these tests inject.
"""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from ludus.bench import RunSettings
from ludus.bench.report.facts import collect
from ludus.bench.report.sections.runs import failures
from ludus.bench.running.folder import BenchFolder
from ludus.cli.research_results import episodes_table
from ludus.record import read_run
from ludus.research.episode import env as env_module
from ludus.research.episode.terminal import Terminal
from ludus.research.running import job as job_module
from ludus.research.running import resume_research
from ludus.research.running.playing import Player
from ludus.research.running.progress import describe_episode
from ludus.research.running.story import tell
from ludus.research.running.verification import verify_research_run
from tests.research.grading.support import boxed
from tests.research.running.support import (
    answers,
    fake_grade,
    kinds,
    record_of,
    set_answer,
    start,
    task_files,
    write_script,
)

pytestmark = boxed

RETRIES = RunSettings(engine="serial", retries=3, backoff=0.01)
HIDE = "mkfifo p; date +%N"
AGENT = """\
class Agent:
    def __init__(self):
        self.actions = iter({actions!r})
    def act(self, observation):
        with open({seen!r}, "a") as file:
            steps, score = int(observation["steps_left"]), float(observation["validation_score"])
            file.write(f"{{steps}} {{score}} {{float(observation['seconds_left'])}}\\n")
        return next(self.actions)
"""
SPENDER = """\
class Agent:
    cost = 0.0
    def __init__(self):
        self.actions = iter({actions!r})
    def act(self, observation):
        self.cost += 1.0
        return next(self.actions)
"""


class Faults:
    """Lets commands with a word in them fail for so many times, as a lost sandbox does."""

    def __init__(self, monkeypatch, word, count):
        self.left = count
        run = Terminal.run

        def failing(terminal, command, *args, **more):
            if word in command and self.left:
                self.left -= 1
                terminal.sandbox.close("the host ended it")
            return run(terminal, command, *args, **more)

        monkeypatch.setattr(Terminal, "run", failing)


def play(tmp_path, monkeypatch, actions, *, settings=RETRIES, fields=None, grade=fake_grade):
    """Let an agent play; return the result, the folder, and what the agent saw."""
    seen = tmp_path / "seen"
    (tmp_path / "mine.py").write_text(AGENT.format(actions=actions, seen=str(seen)))
    monkeypatch.setattr(job_module, "graded_in_sandboxes", grade)
    task, out = answers(tmp_path, **(fields or {})), tmp_path / "run"
    done = start(task, f"me={tmp_path / 'mine.py'}:Agent", out, settings=settings)
    (result,) = done.results
    rows = [tuple(map(float, line.split())) for line in seen.read_text().splitlines()]
    return result, out, rows


def verdict(out):
    (found,) = verify_research_run(BenchFolder.open(out), tasks=task_files(out), regrade=False)
    return found


def abandoned(out):
    place = out / "abandoned"
    return sorted(place.iterdir()) if place.exists() else []


def test_an_episode_that_begins_anew_counts_on(tmp_path, monkeypatch):
    """Steps and validations of the first life are gone, and so is the step that ended it."""
    Faults(monkeypatch, "true unlucky", 1)
    actions = [HIDE, f"{set_answer(0.3)}; validate", "true unlucky", "validate", "validate"]
    result, out, rows = play(tmp_path, monkeypatch, [*actions, "submit"], fields={"validations": 2})
    assert len(abandoned(out)) == 1
    # At 20 it is asked again, to see whether the first life can go on.
    assert [row[0] for row in rows] == [20, 19, 18, 20, 17, 16, 15, 14, 13, 12]
    assert (result.steps, result.extra["lives"], result.extra["validations"]) == (9, 2, 2)
    outputs = [event.data.get("output", "") for event in read_run(record_of(out)).events]
    told = [text for text in outputs if "alidation" in text]
    assert "Validation 2 of 2" in told[0]
    assert all("used up" in text for text in told[1:])
    # Time counts on too.
    left = [row[2] for row in rows]
    assert left[:3] + left[4:] == sorted(left[:3] + left[4:], reverse=True)


def test_what_the_agent_spent_counts_on(tmp_path, monkeypatch):
    Faults(monkeypatch, "true unlucky", 1)
    source = SPENDER.format(actions=[HIDE, "true unlucky", "submit"])
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    agent = f"me={tmp_path / 'mine.py'}:Agent"
    (result,) = start(answers(tmp_path), agent, tmp_path / "run", settings=RETRIES).results
    assert (result.cost, result.steps, result.extra["lives"]) == (5.0, 5, 2)


def test_beginning_anew_again_and_again_uses_the_steps_up(tmp_path, monkeypatch):
    """An agent that always fails in its last step is graded by what it began with."""
    Faults(monkeypatch, "true unlucky", 1000)
    actions = [HIDE, set_answer(0.9), "true unlucky"]
    result, out, rows = play(tmp_path, monkeypatch, actions, fields={"max_steps": 6})
    assert [row[0] for row in rows] == [6, 5, 4, 6, 3, 2, 1, 3]
    assert (result.outcome, result.steps, result.extra["end"]) == ("scored", 6, "steps")
    assert result.score == pytest.approx(0.0)
    assert result.extra["lives"] == len(abandoned(out)) + 1 == 3


def test_verification_and_reports_know_of_abandoned_lives(tmp_path, monkeypatch):
    Faults(monkeypatch, "true unlucky", 1)
    actions = [HIDE, "true unlucky", set_answer(0.9), "submit"]
    result, out, _ = play(tmp_path, monkeypatch, actions)
    assert result.extra["lives"] == 2
    found = verdict(out)
    assert not found.problems
    assert not any("lives" in one for one in found.unchecked)
    shown = io.StringIO()
    suite = BenchFolder.open(out).suite
    Console(file=shown, width=200).print(episodes_table([result], suite))
    assert "1 of them were restarted" in shown.getvalue()
    assert "in 2 lives" in describe_episode(result)
    (section,) = failures(collect([result])).blocks[2:]
    assert "Started again after such a fault: 1" in str(section)
    # Without the record of the first life, nobody can check what it used.
    shutil.copytree(out, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "abandoned")
    found = verdict(tmp_path / "copy")
    assert any("began anew 1 times" in one for one in found.unchecked)


def test_a_life_that_the_record_does_not_count_on_from(tmp_path, monkeypatch):
    result, out, _ = play(tmp_path, monkeypatch, [HIDE, set_answer(0.9), "submit"])
    assert result.extra["lives"] == 1
    shutil.copytree(record_of(out), out / "abandoned" / f"{result.id}-1")
    assert any("earlier lives" in one for one in verdict(out).problems)


@pytest.mark.parametrize("failing", ["close", "step"])
def test_an_episode_whose_test_was_graded_never_begins_anew(tmp_path, monkeypatch, failing):
    """The last step gives other files each time, and a fault follows its test."""
    left = [2]
    if failing == "close":
        leave = env_module.ResearchEnv._leave

        def broken(env, reason="it was closed"):
            leave(env, reason)
            if reason == "its episode is over" and left[0]:
                left[0] -= 1
                raise RuntimeError("the agent's processes do not end")

        monkeypatch.setattr(env_module.ResearchEnv, "_leave", broken)
    else:
        save = job_module.Log.step

        def full(log, output, data, **more):
            if data["final"] and left[0]:
                left[0] -= 1
                raise OSError(28, "No space left on device")
            save(log, output, data, **more)

        monkeypatch.setattr(job_module.Log, "step", full)
    graded = []

    def noting(policy, backend):
        grade = fake_grade(policy, backend)

        def noted(task, artefacts, split, seed, *, draw):
            graded.append((split, artefacts["answer.json"]))
            return grade(task, artefacts, split, seed, draw=draw)

        return noted

    actions = [HIDE, f"{set_answer(0.9)}; sed -i s/9/9$(date +%N)/ answer.json; submit"]
    result, out, _ = play(tmp_path, monkeypatch, actions, grade=noting)
    assert not abandoned(out)
    assert len(graded) == 1
    first = float(json.loads(graded[0][1])["answer"])
    assert (result.outcome, result.extra["lives"]) == ("scored", 1)
    assert result.score == pytest.approx(first - 0.1)
    assert kinds(record_of(out)).count("tested") == 1
    assert not verdict(out).problems


def test_a_step_that_ends_otherwise_the_second_time_is_tested_as_it_was(tmp_path, monkeypatch):
    """The workspace was kept, and the last step is done again: it does not submit any more."""
    left, save = [1], job_module.Log.step

    def full(log, output, data, **more):
        if data["final"] and left[0]:
            left[0] -= 1
            raise OSError(28, "No space left on device")
        save(log, output, data, **more)

    monkeypatch.setattr(job_module.Log, "step", full)
    mark = tmp_path / "again"
    play_on = Player._carry_out

    def marked(player):
        decided = dict(player._log.story.decided)
        if "unlucky" in decided.get("action", "") and mark.exists():
            player._log.story.decided = {**decided, "action": "true"}
        elif "unlucky" in decided.get("action", ""):
            mark.touch()
        return play_on(player)

    monkeypatch.setattr(Player, "_carry_out", marked)
    actions = [set_answer(0.4), ": unlucky; submit"]
    result, out, _ = play(tmp_path, monkeypatch, actions)
    assert (result.outcome, result.score) == ("scored", pytest.approx(0.3))
    assert tell(read_run(record_of(out)).events).is_over
    assert not abandoned(out)


def test_a_box_that_cannot_be_closed_for_an_error_of_the_host(tmp_path, monkeypatch):
    from ludus.sandbox.contract import Sandbox

    close, left = Sandbox.close, [1]

    def failing(box, reason="it was closed"):
        close(box, reason)
        if reason == "its episode is over" and left[0]:
            left[0] -= 1
            raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Sandbox, "close", failing)
    with pytest.warns(UserWarning, match="could not be closed"):
        result, out, _ = play(tmp_path, monkeypatch, [HIDE, set_answer(0.9), "submit"])
    assert left == [0]
    assert (result.outcome, result.extra["faults"], abandoned(out)) == ("scored", [], [])


def test_resuming_by_hand_counts_on_as_well(tmp_path, monkeypatch):
    # Each fault, and the trial without the agent that follows it.
    Faults(monkeypatch, "true", 4)
    once = RunSettings(engine="serial", retries=0, backoff=0.01)
    actions = [HIDE, "true unlucky", set_answer(0.9), "submit"]
    first, out, _ = play(tmp_path, monkeypatch, actions, settings=once)
    assert first.outcome == "infrastructure_fault"
    assert resume_research(out, settings=once).results[0].outcome == "infrastructure_fault"
    (result,) = resume_research(out, settings=once).results
    assert (result.outcome, result.steps, result.extra["lives"]) == ("scored", 8, 3)
    assert Path(out, "abandoned").exists()


def test_a_workspace_that_does_not_fit_into_a_fresh_box_is_made_again(tmp_path, monkeypatch):
    Faults(monkeypatch, "true unlucky", 1)

    def full(env, state):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(env_module.ResearchEnv, "set_state", full)
    monkeypatch.setattr(job_module, "graded_in_sandboxes", fake_grade)
    # An agent with a memory: only then is a kept workspace put back.
    script = write_script(tmp_path / "s.yaml", [set_answer(0.9), "true unlucky", "submit"])
    how, out = {"agent_options": {"file": script}, "settings": RETRIES}, tmp_path / "run"
    (result,) = start(answers(tmp_path), "scripted", out, **how).results
    assert (result.outcome, result.score, result.steps) == ("scored", pytest.approx(0.8), 3)
    assert (result.extra["lives"], len(result.extra["faults"])) == (1, 1)
    assert not abandoned(out)
