"""A complete solver (Davis, Putnam, Logemann, Loveland) that stops at each decision to be told.

Formulas are arrays of clauses by literals; 0 is where a literal was that is false by now. Satisfied
clauses are left out.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Clauses", "solve"]

Clauses: TypeAlias = NDArray[np.int64]


def solve(clauses: Clauses, variables: int) -> Generator[Clauses, int, bool]:
    """Return whether a formula can be satisfied.

    Yields the open clauses at each decision, each with two literals or more; expects a literal of
    one of their variables, which is tried before its opposite.

    Args:
        clauses: The formula.
        variables: How many there are.
    """
    alternatives = [(clauses, np.zeros(0, dtype=np.int64))]
    while alternatives:
        rest = _propagated(*alternatives.pop(), variables)
        if rest is None:
            continue
        if not len(rest):
            return True
        literal = yield rest
        alternatives += [(rest, np.array([-literal])), (rest, np.array([literal]))]
    return False


def _propagated(clauses: Clauses, true: Clauses, variables: int) -> Clauses | None:
    """Return what is open once literals are true and all that follows; ``None`` if that fails."""
    while True:
        value = np.zeros(2 * variables + 1, dtype=np.int8)
        value[variables + true] = 1
        if value[variables - true].any():
            return None
        value[variables - true] = -1
        known = value[variables + clauses]
        is_open = ~(known == 1).any(axis=1)
        clauses = np.where(known[is_open] == -1, 0, clauses[is_open])
        left = (clauses != 0).sum(axis=1)
        if not left.all():
            return None
        true = np.unique(clauses[left == 1].sum(axis=1))
        if not len(true):
            return clauses
