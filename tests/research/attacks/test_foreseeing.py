"""Submissions that know the grader's source, the seed, and what earlier episodes drew."""

from __future__ import annotations

import os

import pytest

from ludus.errors import ResearchError, StateError
from ludus.research import load_task
from ludus.research.data.data_cache import CachedTask
from ludus.research.grading import Outcome, grade
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.draws import VARIABLE, Draws, draw_kind
from ludus.research.grading.limits import GradingLimits
from tests.research.env_support import answer, make, write_task

# The opponent of battleOfSexes, drawn as its grader draws it, and the move that meets it.
FORESEEING = """
import hashlib
import numpy as np

digest = hashlib.sha256(b"battle of the sexes, test, {draw}").digest()
faithful = np.random.default_rng(int.from_bytes(digest, "big")).random((10, 10_000)) < 0.8
calls = 0

def strategy(mine, theirs):
    global calls
    turn, game = divmod(calls, 10_000)
    calls += 1
    return 0 if turn == 0 or faithful[turn, game] else 1
"""
LIMITS = GradingLimits() if os.geteuid() == 0 else GradingLimits(memory=None, cpus=None)


class Drawn:
    """Grades without boxes, and remembers what was drawn."""

    def __init__(self):
        self.numbers = []

    def __call__(self, task, artefacts, split, seed, *, draw):
        self.numbers.append((split, draw))
        return Outcome("scored", 0.5)


@pytest.fixture(autouse=True)
def private(monkeypatch, tmp_path_factory):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path_factory.getbasetemp() / "foreseeing-cache"))


@pytest.fixture
def task(tmp_path):
    return write_task(tmp_path / "answers")


def drawn_in_an_episode(task, **options):
    grade = Drawn()
    with make(task, grade=grade, **options) as env:
        env.reset(seed=7)
        for action in ("validate", "validate", "submit"):
            env.step(action)
    return grade.numbers


@pytest.mark.parametrize("kind", ["public", "private"])
def test_what_a_grader_draws_cannot_be_foreseen(kind, monkeypatch):
    monkeypatch.setenv(VARIABLE, kind)
    task = CachedTask.of(load_task("battleOfSexes"))
    files = Artefacts({"strategy.py": FORESEEING.format(draw=0).encode()})
    outcome = grade(task, files, "test", 0, limits=LIMITS)
    assert outcome.kind == "scored", outcome
    # The best that can be done without knowing is 1.44.
    assert (outcome.score > 1.6) == (kind == "public")
    assert (outcome.score < 1.44) == (kind == "private")


def test_what_one_episode_drew_is_of_no_use_in_the_next():
    """A scout hands in anything, and carries out what the test drew, by whatever way."""
    with make("battleOfSexes") as env:
        env.reset(seed=0)
        scouted = env.step("submit")[4]["final"]["draw"]
        env.reset(seed=0)
        env.sandbox.write_bytes("strategy.py", FORESEEING.format(draw=scouted).encode())
        info = env.step("submit")[4]
        assert info["score"] < 1.44
        # It would have been worth it, had the draws been the same.
        env.reset(seed=0)
        graded = env._episode.assessor.grade(
            Artefacts({"strategy.py": FORESEEING.format(draw=scouted).encode()}), "test", scouted
        )
        assert graded.outcome.score > 1.6


def test_no_two_gradings_draw_the_same(task):
    first, second = drawn_in_an_episode(task), drawn_in_an_episode(task)
    assert [split for split, _ in first] == ["validation", "validation", "test"]
    numbers = [number for _, number in first + second]
    assert len(set(numbers)) == 6
    assert all(0 <= number < 2**53 for number in numbers)


def test_public_draws_are_asked_for_and_follow_from_the_seed(task, monkeypatch):
    assert {number for _, number in drawn_in_an_episode(task, draws="public")} == {7}
    monkeypatch.setenv(VARIABLE, "public")
    assert {number for _, number in drawn_in_an_episode(task)} == {7}
    # The caller's word goes first.
    assert 7 not in {number for _, number in drawn_in_an_episode(task, draws="private")}


def test_draws_of_another_kind_are_refused(task, monkeypatch):
    with pytest.raises(ResearchError, match="draws is 'secret'; expected 'private' or 'public'"):
        make(task, draws="secret")
    monkeypatch.setenv(VARIABLE, "yes")
    with pytest.raises(ResearchError, match="LUDUS_RESEARCH_DRAWS is 'yes'"):
        draw_kind()


def test_taking_back_an_episode_gives_no_second_draw(task):
    grade = Drawn()
    with make(task, grade=grade) as env:
        env.reset(seed=7)
        env.step("validate")
        state = env.get_state()
        env.step("validate; submit")
        first, grade.numbers = grade.numbers[1:], []
        with make(task, grade=grade) as other:
            other.set_state(state)
            other.step("validate; submit")
        assert grade.numbers == first
        del state["fields"]["draws"]
        with pytest.raises(StateError, match="what graders draw from"):
            env.set_state(state)


def test_nothing_that_an_agent_sees_tells_the_nonce(task):
    with make(task, grade=Drawn()) as env:
        observation, info = env.reset(seed=7)
        nonce = env._episode.assessor.draws.nonce
        seen = [observation, info]
        for action in (answer(1.0), "validate", "env; cat /proc/*/environ; submit"):
            observation, *_, info = env.step(action)
            seen += [observation, info]
        assert len(nonce) == 64
        assert nonce not in repr(seen)
        assert nonce not in repr(env._episode.assessor.draws)


def test_a_nonce_is_nothing_else():
    for told in ({}, None, {"kind": "private", "nonce": ""}, {"kind": "public", "nonce": "0" * 64}):
        with pytest.raises(ValueError, match="draws"):
            Draws.from_plain(told)
    with pytest.raises(ValueError, match="hexadecimal"):
        Draws("0" * 63 + "g")
    one = Draws.begin("private")
    assert Draws.from_plain(one.plain()) == one
    cases = [("blotto", 0, "test", 0), ("blotto", 0, "validation", 1), ("blotto", 1, "test", 0)]
    cases += [("blotto", 0, "validation", 2), ("prisonersDilemma", 0, "test", 0)]
    assert len({one.number(*case) for case in cases}) == 5
    assert Draws.begin("private").number(*cases[0]) != one.number(*cases[0])
