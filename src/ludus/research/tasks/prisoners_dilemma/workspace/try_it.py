"""Play strategy.py against a partner that moves at random."""

from __future__ import annotations

import random

from strategy import strategy

ROUNDS, GAMES = 10, 200
POINTS = {(0, 0): 3, (0, 1): 0, (1, 0): 5, (1, 1): 1}

rng = random.Random(1)
total = 0
for _ in range(GAMES):
    mine: list[int] = []
    theirs: list[int] = []
    for _ in range(ROUNDS):
        move, answer = strategy(list(mine), list(theirs)), rng.randrange(2)
        if type(move) is not int or move not in (0, 1):
            raise SystemExit(f"{move!r} is no move; expected 0 or 1 (after {mine}, {theirs}).")
        mine.append(move)
        theirs.append(answer)
        total += POINTS[move, answer]
print(f"{total / GAMES / ROUNDS:.4f} points per round against random moves")
