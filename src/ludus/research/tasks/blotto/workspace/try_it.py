"""Play strategy.py against a partner that cuts the line of its soldiers at random places."""

from __future__ import annotations

import random

import numpy as np
from strategy import strategy

ROUNDS, GAMES, FIELDS, SOLDIERS = 10, 200, 6, 120

rng = random.Random(1)
total = 0
for _ in range(GAMES):
    past = np.zeros((2, 0, FIELDS), dtype=np.int64)
    for _ in range(ROUNDS):
        sent = np.asarray(strategy(past[0].copy(), past[1].copy()))
        if sent.shape != (FIELDS,) or sent.dtype.kind not in "iu" or sent.min() < 0:
            raise SystemExit(f"{sent} is no move; expected six integers, none negative.")
        if sent.sum() != SOLDIERS:
            raise SystemExit(f"{sent} are {sent.sum()} soldiers; expected {SOLDIERS}.")
        cuts = sorted(rng.randint(0, SOLDIERS) for _ in range(FIELDS - 1))
        answer = np.diff([0, *cuts, SOLDIERS])
        past = np.concatenate([past, np.stack([sent, answer])[:, None]], axis=1)
        total += int(np.sign(np.sign(sent - answer).sum()))
print(f"{total / GAMES / ROUNDS:.4f} per round against random cuts")
