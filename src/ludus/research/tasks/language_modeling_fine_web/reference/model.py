"""The submitted model: Kneser-Ney smoothing of contexts of up to seven bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

ORDER = 7
"""Bytes of the longest context; with the next byte it fits into 64 bits."""


def packed(columns: Any) -> Any:
    """Return neighbouring bytes as one number, the last byte lowest."""
    total = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        total = (total << np.uint64(8)) | column.astype(np.uint64)
    return total


class Level:
    """What follows contexts of one length.

    Args:
        grams: each context with a byte that follows it, as one number, sorted.
        counts: how often it does; of shorter contexts, after how many different bytes.
    """

    def __init__(self, grams: Any, counts: Any) -> None:
        self.following = (grams & np.uint64(255)).astype(np.intp)
        self.contexts, starts = np.unique(grams >> np.uint64(8), return_index=True)
        self.starts = np.append(starts, len(grams))
        totals = np.add.reduceat(counts, starts)
        ones, twos, threes, fours = ((counts == i).sum() for i in (1, 2, 3, 4))
        rate = ones / max(ones + 2 * twos, 1)
        discounts = [1 - 2 * rate * twos / max(ones, 1)]
        discounts += [2 - 3 * rate * threes / max(twos, 1), 3 - 4 * rate * fours / max(threes, 1)]
        discount = np.clip(discounts, 0.0, 1.0)[np.minimum(counts, 3) - 1]
        self.shares = (counts - discount) / np.repeat(totals, np.diff(self.starts))
        self.spared = np.add.reduceat(discount, starts) / totals

    def refine(self, chances: Any, contexts: Any) -> None:
        """Change what shorter contexts say into what these say."""
        place = np.minimum(np.searchsorted(self.contexts, contexts), len(self.contexts) - 1)
        known = np.flatnonzero(self.contexts[place] == contexts)
        place = place[known]
        chances[known] *= self.spared[place, None]
        sizes = self.starts[place + 1] - self.starts[place]
        rows = np.repeat(known, sizes)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        entries = np.repeat(self.starts[place], sizes) + within
        chances[rows, self.following[entries]] += self.shares[entries]


def levels_of(text: Any) -> list[Level]:
    """Return the levels from no context up to the longest."""
    size = ORDER + 1
    windows = [text[i : len(text) - size + 1 + i] for i in range(size)]
    grams, counts = np.unique(packed(windows), return_counts=True)
    levels = [Level(grams, counts)]
    for order in range(ORDER, 0, -1):
        shorter = grams & np.uint64((1 << 8 * order) - 1)
        grams, counts = np.unique(shorter, return_counts=True)
        levels.append(Level(grams, counts))
    return levels[::-1]


with np.load(Path(__file__).with_name("model.npz")) as weights:
    LEVELS = levels_of(weights["text"])


def predict(contexts: Any) -> Any:
    """Return the probabilities of the 256 bytes that may follow each context."""
    chances = np.full((len(contexts), 256), 1 / 256)
    for order, level in enumerate(LEVELS):
        last = contexts[:, contexts.shape[1] - order :]
        keys = packed(last.T) if order else np.zeros(len(contexts), np.uint64)
        level.refine(chances, keys)
    return chances / chances.sum(axis=1, keepdims=True)
