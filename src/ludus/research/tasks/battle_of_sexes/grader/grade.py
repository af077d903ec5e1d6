"""The grader: 10,000 games of ten rounds against an opponent that lives here only."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from ludus.research.grading import Score, Split, Submission

ROUNDS, GAMES = 10, 10_000
FAITH = 0.8
"""How likely the opponent makes the player's first move; else it makes the other one."""
POINTS = np.array([[2, 0], [0, 1]])
"""The player's points, by the player's and the opponent's move."""
OTHERS = np.array([[1, 0], [0, 2]])
SECONDS = 60.0
BYTES = 64 * GAMES
"""Of the answers to all games of a round, as they are sent."""


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the mean number of points per round."""
    is_faithful = _generator(seed, split).random((ROUNDS, GAMES)) < FAITH
    code = submission.code("strategy.py")
    mine, theirs = np.empty((2, GAMES, ROUNDS), dtype=np.int64)
    for turn in range(ROUNDS):
        calls = zip(mine[:, :turn].tolist(), theirs[:, :turn].tolist(), strict=True)
        mine[:, turn] = code.call_many(
            "strategy", calls, timeout=SECONDS, returns=_move, max_bytes=BYTES
        )
        first = mine[:, 0]
        theirs[:, turn] = np.where(is_faithful[turn], first, 1 - first) if turn else 1
    details = {
        "games": GAMES,
        "rounds": ROUNDS,
        "others_score": float(OTHERS[mine, theirs].mean()),
        "share_of_1": float(mine.mean()),
    }
    return Score(float(POINTS[mine, theirs].mean()), details)


def _move(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value not in (0, 1):
        raise ValueError("expected the int 0 or 1")
    return int(value)


def _generator(seed: int, split: Split) -> np.random.Generator:
    digest = hashlib.sha256(f"battle of the sexes, {split}, {seed}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
