"""The baseline: how often a byte follows the two before it, smoothed by shorter contexts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SYMBOLS = 96
"""Only the most frequent bytes are told apart."""
WEIGHT = 5.0
"""How many times a shorter context's opinion is counted."""

text = np.frombuffer(Path("train.txt").read_bytes(), np.uint8)
symbols = np.sort(np.argsort(np.bincount(text, minlength=256))[-SYMBOLS:])
number = np.zeros(256, np.int64)
number[symbols] = np.arange(SYMBOLS)
coded = number[text]

table = np.full(SYMBOLS, 1 / SYMBOLS)
for size in (1, 2, 3):
    grams = sum(
        coded[i : len(coded) - size + 1 + i] * SYMBOLS ** (size - 1 - i) for i in range(size)
    )
    counts = np.bincount(grams, minlength=SYMBOLS**size).reshape((SYMBOLS,) * size)
    totals = counts.sum(axis=-1, keepdims=True)
    table = (counts + WEIGHT * table) / (totals + WEIGHT)

np.savez_compressed("model.npz", symbols=symbols, table=table.astype(np.float32))
