"""A heuristic to start from: the first variable that is open."""

from __future__ import annotations

import numpy as np


def heuristic(clauses: np.ndarray) -> int:
    """Return the literal to try next."""
    variables = np.abs(clauses)
    return int(variables[variables > 0].min())
