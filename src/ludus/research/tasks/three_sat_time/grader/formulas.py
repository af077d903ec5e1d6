"""Random 3-SAT formulas near the point where half of them can be satisfied."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLAUSES", "FORMULAS", "VARIABLES", "draw_formulas"]

FORMULAS, VARIABLES, CLAUSES = 200, 40, 180


def draw_formulas(seed: int, split: str) -> NDArray[np.int64]:
    """Return formulas by clauses by three literals: variables from 1 on, negated if negative."""
    digest = hashlib.sha256(f"3-SAT, {split}, {seed}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest, "big"))
    # The first three of a random order are three different variables.
    order = np.argsort(rng.random((FORMULAS, CLAUSES, VARIABLES)), axis=2, kind="stable")
    signs = np.where(rng.random((FORMULAS, CLAUSES, 3)) < 0.5, -1, 1)
    return np.asarray((order[:, :, :3] + 1) * signs, dtype=np.int64)
