"""The reference solution: four fields win, so two are given up."""

from __future__ import annotations

import numpy as np


def strategy(mine: np.ndarray, theirs: np.ndarray) -> list[int]:
    """Return how many soldiers go to each field."""
    return [30, 30, 30, 30, 0, 0]
