"""A strategy to start from: everybody goes to the first field."""

from __future__ import annotations

import numpy as np


def strategy(mine: np.ndarray, theirs: np.ndarray) -> list[int]:
    """Return how many soldiers go to each field, after the rounds of this game until now."""
    return [120, 0, 0, 0, 0, 0]
