"""The reference solution: look ahead.

The most promising variables are tried both ways, all at once, with everything that follows. The one
is taken that makes many clauses shorter on both of its sides; a side that fails is worth most.
"""

from __future__ import annotations

import numpy as np

CANDIDATES = 6
SHORT = 5.0
"""How much more a clause of two literals counts than one of three."""
FAILURE = 60.0
"""How many clauses that become shorter a literal is worth that fails at once."""


def heuristic(clauses: np.ndarray) -> int:
    """Return the literal to try next."""
    variables = _promising(clauses)
    gains = _look_ahead(clauses, np.concatenate([variables, -variables]))
    plus, minus = gains[: len(variables)], gains[len(variables) :]
    which = int((plus * minus * 1024 + plus + minus).argmax())
    return int(variables[which] if plus[which] <= minus[which] else -variables[which])


def _promising(clauses: np.ndarray) -> np.ndarray:
    """Return the variables that occur most, and with both signs."""
    top = int(np.abs(clauses).max())
    weights = np.where((clauses != 0).sum(axis=1) == 2, SHORT, 1.0)
    totals = np.bincount((clauses + top).ravel(), np.repeat(weights, 3), 2 * top + 1)
    plus, minus = totals[top + 1 :], totals[top - 1 :: -1]
    rating = plus * minus * 1024 + plus + minus
    best = np.argsort(-rating, kind="stable")[:CANDIDATES] + 1
    return best[np.isin(best, np.abs(clauses))]


def _look_ahead(clauses: np.ndarray, literals: np.ndarray) -> np.ndarray:
    """Return how many clauses each literal makes shorter, with all that follows from it."""
    rows, variables, signs = np.arange(len(literals)), np.abs(clauses), np.sign(clauses)
    values = np.zeros((len(literals), int(variables.max()) + 1), dtype=np.int64)
    values[rows, np.abs(literals)] = np.sign(literals)
    dead = np.zeros(len(literals), dtype=bool)
    while True:
        known = values[:, variables] * signs
        is_open = ~(known == 1).any(axis=2)
        free = (known == 0) & (clauses != 0)
        left = free.sum(axis=2)
        dead |= (is_open & (left == 0)).any(axis=1)
        which, unit = np.nonzero(is_open & (left == 1) & ~dead[:, None])
        if not len(which):
            break
        forced = (clauses[unit] * free[which, unit]).sum(axis=1)
        values[which, np.abs(forced)] = np.sign(forced)
    is_whole = (clauses != 0).all(axis=1)
    return np.where(dead, FAILURE, (is_open & (left == 2) & is_whole).sum(axis=1))
