"""The baseline: the literal that occurs most often in the open clauses."""

from __future__ import annotations

import numpy as np


def heuristic(clauses: np.ndarray) -> int:
    """Return the literal to try next."""
    literals, counts = np.unique(clauses[clauses != 0], return_counts=True)
    return int(literals[counts.argmax()])
