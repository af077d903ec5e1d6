"""A submission that knows the grader's source and guesses the seed."""

from __future__ import annotations

import os

import pytest

from ludus.research import load_task
from ludus.research.data_cache import CachedTask
from ludus.research.grading import Scored, grade
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.limits import GradingLimits
from ludus.research.secret import VARIABLE

# The opponent of battleOfSexes, drawn as its grader draws it, and the move that meets it.
FORESEEING = b"""
import hashlib
import numpy as np

digest = hashlib.sha256(b"battle of the sexes, test, 0").digest()
faithful = np.random.default_rng(int.from_bytes(digest, "big")).random((10, 10_000)) < 0.8
calls = 0

def strategy(mine, theirs):
    global calls
    turn, game = divmod(calls, 10_000)
    calls += 1
    return 0 if turn == 0 or faithful[turn, game] else 1
"""
LIMITS = GradingLimits() if os.geteuid() == 0 else GradingLimits(memory=None, cpus=None)


@pytest.mark.parametrize("secret", ["", "this machine's"])
def test_what_a_grader_draws_cannot_be_foreseen(secret, monkeypatch):
    monkeypatch.setenv(VARIABLE, secret)
    task = CachedTask.of(load_task("battleOfSexes"))
    outcome = grade(task, Artefacts({"strategy.py": FORESEEING}), "test", 0, limits=LIMITS)
    assert isinstance(outcome, Scored), outcome
    # The best that can be done without knowing is 1.44.
    assert (outcome.score.value > 1.6) == (secret == "")
    assert (outcome.score.value < 1.44) == (secret != "")
