"""The battle of the sexes: its opponent, and moves that are none."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import SubmissionRejected
from tests.research.tasks.directly import graded, grader_of
from tests.research.tasks.playing import play
from tests.sandbox.support import needs

TASK = "battleOfSexes"


@pytest.fixture
def grader():
    made = grader_of(TASK)
    made.GAMES = 300
    return made


@needs("bubblewrap")
def test_an_illegal_move_is_the_agents_fault():
    _, info = play(TASK, {"strategy.py": b"def strategy(mine, theirs): return 2\n"})
    assert (info["outcome"], info["score"]) == ("agent_fault", None)
    assert "expected the int 0 or 1" in info["reason"]


@pytest.mark.parametrize("first", [0, 1])
def test_the_opponent_opens_with_1_and_then_mostly_follows_the_first_move(grader, first):
    seen = []

    def strategy(mine, theirs):
        if len(theirs) == 9:
            seen.append(theirs)
        return 1 - first if mine else first

    graded(grader, strategy=strategy)
    moves = np.array(seen)
    assert moves.shape == (300, 9)
    assert (moves[:, 0] == 1).all()
    assert (moves[:, 1:] == first).mean() == pytest.approx(0.8, abs=0.03)


def test_points(grader):
    always_0, always_1 = (graded(grader, strategy=lambda *_, m=m: m) for m in (0, 1))
    assert always_0.value == pytest.approx(0.9 * 0.8 * 2, abs=0.04)
    assert always_1.value == pytest.approx(0.1 + 0.9 * 0.8, abs=0.03)
    assert always_0.value == pytest.approx(2 * always_0.details["others_score"])
    assert always_1.details["others_score"] == pytest.approx(2 * always_1.value)


def test_a_strategy_sees_its_own_game(grader):
    def strategy(mine, theirs):
        assert len(mine) == len(theirs)
        assert mine == [turn % 2 for turn in range(len(mine))]
        return len(mine) % 2

    graded(grader, strategy=strategy)


def test_seed_and_split_decide_on_the_opponents_moves(grader):
    scores = [
        graded(grader, seed=seed, split=split, strategy=lambda *_: 0).value
        for seed, split in ((0, "test"), (0, "test"), (1, "test"), (-(2**60), "test"))
    ] + [graded(grader, split="validation", strategy=lambda *_: 0).value]
    assert scores[0] == scores[1]
    assert len(set(scores)) == 4


@pytest.mark.parametrize("move", [2, -1, True, 0.0, None, "0", [0], float("nan"), np.array([0, 1])])
def test_what_is_no_move_is_refused(grader, move):
    with pytest.raises(SubmissionRejected, match=r"strategy\.py: strategy answered"):
        graded(grader, strategy=lambda *_: move)
