"""Solve some random formulas with heuristic.py, and count its decisions."""

from __future__ import annotations

import time

import numpy as np
from heuristic import heuristic

FORMULAS, VARIABLES, CLAUSES = 20, 40, 180


def solve(clauses: np.ndarray) -> tuple[bool, int]:
    """Return whether a formula can be satisfied, and how many decisions that took."""
    alternatives, decisions = [clauses], 0
    while alternatives:
        rest = alternatives.pop()
        while True:
            left = (rest != 0).sum(axis=1)
            if not left.all() or (left > 1).all():
                break
            rest = with_true(rest, int(rest[left == 1][0].sum()))
        if not left.all():
            continue
        if not len(rest):
            return True, decisions
        literal = heuristic(rest.copy())
        if type(literal) is not int or not (np.abs(rest) == abs(literal)).any() or not literal:
            raise SystemExit(f"{literal!r} is no literal of an open variable.")
        decisions += 1
        alternatives += [with_true(rest, -literal), with_true(rest, literal)]
    return False, decisions


def with_true(clauses: np.ndarray, literal: int) -> np.ndarray:
    """Return what is open after a literal was made true."""
    kept = clauses[~(clauses == literal).any(axis=1)]
    return np.where(kept == -literal, 0, kept)


rng = np.random.default_rng(1)
began, answers = time.perf_counter(), []
for _ in range(FORMULAS):
    rows = [rng.choice(VARIABLES, 3, replace=False) + 1 for _ in range(CLAUSES)]
    answers.append(solve(np.array(rows) * rng.choice([-1, 1], (CLAUSES, 3))))
seconds = time.perf_counter() - began
print(f"{sum(number for _, number in answers) / FORMULAS:.2f} decisions per formula")
print(f"{sum(can for can, _ in answers)} of {FORMULAS} can be satisfied; {seconds:.2f} s in all")
