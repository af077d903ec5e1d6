"""The prisoner's dilemma: the eleven characters, and moves that are none."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import SubmissionRejected
from tests.research.tasks.directly import graded, grader_of
from tests.research.tasks.playing import play
from tests.sandbox.support import needs

TASK = "prisonersDilemma"


@pytest.fixture
def grader():
    made = grader_of(TASK)
    made.GAMES = 1000
    return made


@needs("bubblewrap")
def test_an_illegal_move_is_the_agents_fault():
    _, info = play(TASK, {"strategy.py": b"def strategy(mine, theirs): return 'defect'\n"})
    assert (info["outcome"], info["score"]) == ("agent_fault", None)
    assert "expected the int 0 or 1" in info["reason"]


# The player's moves, the opponent's, and what the characters then do in the order in which the
# opponent has them: saint, villain, coin, alternating, tit for tat, contrary, patient, generous,
# grim, pavlov, majority; with a coin that says "defect" and a generous one that does not forgive,
# or the other way around.
@pytest.mark.parametrize(
    ("player", "own", "chance", "defects"),
    [
        ("", "", 0.4, "01100000000"),
        ("0", "0", 0.4, "01110100000"),
        ("1", "0", 0.4, "01111001111"),
        ("1", "1", 0.4, "01111001101"),
        ("00", "00", 0.4, "01100100000"),
        ("10", "00", 0.4, "01100100100"),
        ("11", "00", 0.4, "01101011111"),
        ("101", "011", 0.4, "01111001101"),
        ("1100", "0000", 0.4, "01100100100"),
        ("1", "0", 0.6, "01011001111"),
        ("1", "0", 0.2, "01111000111"),
    ],
)
def test_characters(grader, player, own, chance, defects):
    characters = grader.Opponent.moves.__globals__["characters"]
    past = [np.array([[int(move) for move in moves]], dtype=np.int64) for moves in (player, own)]
    done = characters(*past, np.array([chance])).values()
    assert [made.shape for made in done] == [(1,)] * 11
    assert "".join(str(int(made[0])) for made in done) == defects


def test_characters_are_drawn_anew_in_each_round(grader):
    seen = []

    def strategy(mine, theirs):
        if len(mine) == 9:
            seen.append(theirs)
        return 0

    graded(grader, strategy=strategy)
    # To one who always cooperates: villain, contrary, half of coin and alternating, and pavlov.
    shares = np.array(seen).mean(axis=0)
    assert shares[0] == pytest.approx(1.5 / 11, abs=0.03)
    assert shares[1] == pytest.approx((1.5 + 2 + shares[0]) / 11, abs=0.04)
    assert shares[2] == pytest.approx((1.5 + 1 + shares[1]) / 11, abs=0.04)


def test_points(grader):
    defecting = graded(grader, strategy=lambda *_: 1)
    assert defecting.value == pytest.approx(2.6185, abs=0.06)
    assert defecting.value == pytest.approx(5 - 4 * defecting.details["others_score"])
    assert graded(grader, strategy=lambda *_: 0).value == pytest.approx(2.14025, abs=0.05)


def test_seed_and_split_decide_on_the_opponents_moves(grader):
    scores = [
        graded(grader, seed=seed, split=split, strategy=lambda *_: 1).value
        for seed, split in ((0, "test"), (0, "test"), (1, "test"), (0, "validation"))
    ]
    assert scores[0] == scores[1]
    assert len(set(scores)) == 3


@pytest.mark.parametrize("move", [2, -1, False, 1.0, None, "1", [1], float("inf"), b"1"])
def test_what_is_no_move_is_refused(grader, move):
    with pytest.raises(SubmissionRejected, match=r"strategy\.py: strategy answered"):
        graded(grader, strategy=lambda *_: move)
