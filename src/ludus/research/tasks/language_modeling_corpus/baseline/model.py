"""The submitted model: a table of what follows two bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

with np.load(Path(__file__).with_name("model.npz")) as weights:
    SYMBOLS, TABLE = weights["symbols"], weights["table"]

NUMBER = np.zeros(256, np.int64)
NUMBER[SYMBOLS] = np.arange(len(SYMBOLS))


def predict(contexts: Any) -> Any:
    """Return the probabilities of the 256 bytes that may follow each context."""
    last = NUMBER[contexts[:, -2:]]
    chances = np.full((len(contexts), 256), 1e-6)
    chances[:, SYMBOLS] += TABLE[last[:, 0], last[:, 1]]
    return chances / chances.sum(axis=1, keepdims=True)
