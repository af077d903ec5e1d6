"""Colonel Blotto: its opponent, and moves that are none."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import SubmissionRejected
from tests.research.tasks.directly import graded, grader_of
from tests.research.tasks.playing import play
from tests.sandbox.support import needs

TASK = "blotto"
EVEN = [20] * 6


@pytest.fixture
def grader():
    made = grader_of(TASK)
    made.GAMES = 500
    return made


@needs("bubblewrap")
def test_too_many_soldiers_are_the_agents_fault():
    _, info = play(TASK, {"strategy.py": b"def strategy(mine, theirs): return [120] * 6\n"})
    assert (info["outcome"], info["score"]) == ("agent_fault", None)
    assert "these are 720 soldiers; expected 120" in info["reason"]


def test_the_opponent_spreads_all_its_soldiers(grader):
    seen = []

    def strategy(mine, theirs):
        assert mine.shape == theirs.shape
        assert (mine == EVEN).all()
        if len(theirs) == 9:
            seen.append(theirs)
        return EVEN

    score = graded(grader, strategy=strategy)
    moves = np.array(seen)
    assert moves.shape == (500, 9, 6)
    assert (moves.sum(axis=2) == 120).all()
    assert moves.min() >= 0
    assert moves.mean(axis=(0, 1)) == pytest.approx(20, abs=0.7)
    assert score.value == pytest.approx(0.0, abs=0.05)


def test_who_is_left_goes_to_the_largest_fractions(grader):
    shares = np.array([[1.0, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0], [59.5, 40.6, 9.9, 5, 4, 1]])
    assert grader._spread(shares).tolist() == [
        [20, 20, 20, 20, 20, 20],
        [120, 0, 0, 0, 0, 0],
        [59, 41, 10, 5, 4, 1],
    ]


def test_results(grader):
    assert graded(grader, strategy=lambda *_: [120, 0, 0, 0, 0, 0]).value == -1.0
    score = graded(grader, strategy=lambda *_: (30, 30, 30, 30, 0, 0))
    assert score.value == pytest.approx(0.25, abs=0.06)
    won, drawn = score.details["won"], score.details["drawn"]
    assert score.value == pytest.approx(won - (1 - won - drawn))
    assert graded(grader, strategy=lambda *_: np.array([30, 30, 30, 30, 0, 0])) == score


def test_seed_and_split_decide_on_the_opponents_moves(grader):
    scores = [
        graded(grader, seed=seed, split=split, strategy=lambda *_: EVEN).value
        for seed, split in ((0, "test"), (0, "test"), (1, "test"), (0, "validation"))
    ]
    assert scores[0] == scores[1]
    assert len(set(scores)) == 3


@pytest.mark.parametrize(
    "move",
    [
        [20] * 5,
        [20] * 5 + [21],
        [140, -20, 0, 0, 0, 0],
        [20.0] * 6,
        [True, 119, 0, 0, 0, 0],
        [2**62, 2**62, 2**62, 2**62, 120, 0],
        np.full(6, 20.0),
        np.full((6, 1), 20),
        np.array([2**64 - 20, 140, 0, 0, 0, 0], dtype=np.uint64),
        np.array([100] * 6, dtype=np.int8),
        {"a": 20},
        "202020",
        120,
        None,
    ],
)
def test_what_is_no_move_is_refused(grader, move):
    with pytest.raises(SubmissionRejected, match=r"strategy\.py: strategy answered"):
        graded(grader, strategy=lambda *_: move)
