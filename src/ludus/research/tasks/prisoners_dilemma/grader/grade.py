"""The grader: 10,000 games of ten rounds against an opponent that lives here only."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from opponent import Opponent

from ludus.research.grading import Score, Split, Submission

ROUNDS, GAMES = 10, 10_000
POINTS = np.array([[3, 0], [5, 1]])
"""A player's points, by the own and the other's move."""
SECONDS = 60.0
BYTES = 64 * GAMES
"""Of the answers to all games of a round, as they are sent."""


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the mean number of points per round."""
    opponent = Opponent(_generator(seed, split), GAMES, ROUNDS)
    code = submission.code("strategy.py")
    mine, theirs = np.empty((2, GAMES, ROUNDS), dtype=np.int64)
    for turn in range(ROUNDS):
        past = mine[:, :turn], theirs[:, :turn]
        calls = zip(past[0].tolist(), past[1].tolist(), strict=True)
        mine[:, turn] = code.call_many(
            "strategy", calls, timeout=SECONDS, returns=_move, max_bytes=BYTES
        )
        theirs[:, turn] = opponent.moves(*past)
    details = {
        "games": GAMES,
        "rounds": ROUNDS,
        "others_score": float(POINTS[theirs, mine].mean()),
        "share_of_1": float(mine.mean()),
    }
    return Score(float(POINTS[mine, theirs].mean()), details)


def _move(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value not in (0, 1):
        raise ValueError("expected the int 0 or 1")
    return int(value)


def _generator(seed: int, split: Split) -> np.random.Generator:
    digest = hashlib.sha256(f"prisoner's dilemma, {split}, {seed}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
