"""The grader: solves formulas side by side and asks the submitted heuristic for every decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from formulas import FORMULAS, VARIABLES, draw_formulas
from solver import Clauses, solve

from ludus.errors import SubmissionRejected
from ludus.research.grading import Code, Score, Split, Submission

MOST = 100_000
"""Decisions in all; more are refused."""
PATIENCE, EACH = 5.0, 0.005
"""Seconds for a batch of calls, and for each of them on top."""
BYTES = 64 * FORMULAS
"""Of the answers of a batch, as they are sent."""


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the mean number of decisions per formula."""
    code = submission.code("heuristic.py", alone=True)
    searches = [solve(formula, VARIABLES) for formula in draw_formulas(seed, split)]
    decisions, satisfiable = np.zeros(FORMULAS, dtype=np.int64), 0
    # A generator is begun by sending it None.
    told: dict[int, Any] = dict.fromkeys(range(FORMULAS))
    while told:
        waiting: dict[int, Clauses] = {}
        for number, literal in told.items():
            try:
                waiting[number] = searches[number].send(literal)
            except StopIteration as end:
                satisfiable += end.value
        decisions[list(waiting)] += 1
        told = dict(zip(waiting, _literals(code, list(waiting.values())), strict=True))
        if decisions.sum() > MOST:
            lost = f"heuristic.py needs more than {MOST:,} decisions for {FORMULAS} formulas."
            raise SubmissionRejected(lost, told=lost)
    details = {
        "formulas": FORMULAS,
        "satisfiable": satisfiable,
        "decisions": int(decisions.sum()),
        "most_decisions": int(decisions.max()),
        "seconds": code.seconds,
    }
    return Score(float(decisions.mean()), details)


def _literals(code: Code, formulas: list[Clauses]) -> list[int]:
    """Ask for the next literal of each formula."""
    if not formulas:
        return []
    seconds = PATIENCE + EACH * len(formulas)
    calls = [(clauses,) for clauses in formulas]
    literals: list[int] = code.call_many(
        "heuristic", calls, timeout=seconds, returns=int, max_bytes=BYTES
    )
    wanted = "a literal whose variable occurs in the clauses that it was given"
    for literal, clauses in zip(literals, formulas, strict=True):
        if literal == 0 or not (np.abs(clauses) == abs(literal)).any():
            raise SubmissionRejected(
                f"heuristic.py returned {literal}; expected {wanted}.",
                told=f"heuristic.py must return {wanted}.",
            )
    return literals
