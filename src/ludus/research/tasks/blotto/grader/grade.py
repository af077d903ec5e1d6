"""The grader: 10,000 games of ten rounds against an opponent that lives here only."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.research.grading import Score, Split, Submission
from ludus.research.grading.answers import admitted_numbers

ROUNDS, GAMES, FIELDS, SOLDIERS = 10, 10_000, 6, 120
SECONDS = 60.0
BYTES = 256 * GAMES
"""Of the answers to all games of a round, as they are sent."""


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the mean result of a round: 1 if it is won, -1 if it is lost."""
    theirs = _spread(_generator(seed, split).random((GAMES, ROUNDS, FIELDS)))
    code = submission.code("strategy.py")
    mine = np.empty_like(theirs)
    for turn in range(ROUNDS):
        calls = zip(mine[:, :turn], theirs[:, :turn], strict=True)
        mine[:, turn] = code.call_many(
            "strategy", calls, timeout=SECONDS, returns=_move, max_bytes=BYTES
        )
    results = np.sign(np.sign(mine - theirs).sum(axis=2))
    details = {
        "games": GAMES,
        "rounds": ROUNDS,
        "won": float((results > 0).mean()),
        "drawn": float((results == 0).mean()),
    }
    return Score(float(results.mean()), details)


def _spread(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole soldiers in proportion to shares; who is left goes to the largest fractions."""
    exact = shares / shares.sum(axis=-1, keepdims=True) * SOLDIERS
    whole = np.floor(exact).astype(np.int64)
    left = SOLDIERS - whole.sum(axis=-1, keepdims=True)
    rank = np.argsort(np.argsort(whole - exact, axis=-1, kind="stable"), axis=-1)
    return np.asarray(whole + (rank < left), dtype=np.int64)


def _move(value: Any) -> NDArray[np.int64]:
    sent = admitted_numbers(value, (FIELDS,), "iu")
    if sent is None:
        raise ValueError(f"expected {FIELDS} ints")
    if sent.min() < 0 or sent.max() > SOLDIERS:
        raise ValueError(f"expected {FIELDS} numbers from 0 to {SOLDIERS}")
    if sent.sum() != SOLDIERS:
        raise ValueError(f"these are {sent.sum()} soldiers; expected {SOLDIERS}")
    return sent.astype(np.int64)


def _generator(seed: int, split: Split) -> np.random.Generator:
    digest = hashlib.sha256(f"blotto, {split}, {seed}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
