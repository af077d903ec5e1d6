"""3-SAT: a solver that is always right, and literals that are none."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ludus.errors import SubmissionRejected
from tests.research.tasks.directly import graded, grader_of
from tests.research.tasks.playing import play
from tests.sandbox.support import needs

TASK = "3SATTime"


@pytest.fixture
def grader():
    made = grader_of(TASK)
    few = made.draw_formulas
    made.FORMULAS = 12
    made.draw_formulas = lambda seed, split: few(seed, split)[:12]
    return made


def most_frequent(clauses):
    literals, counts = np.unique(clauses[clauses != 0], return_counts=True)
    return int(literals[counts.argmax()])


@needs("bubblewrap")
def test_a_variable_that_is_not_there_is_the_agents_fault():
    _, info = play(TASK, {"heuristic.py": b"def heuristic(clauses): return 41\n"})
    assert (info["outcome"], info["score"]) == ("agent_fault", None)
    assert "heuristic.py returned 41" in info["reason"]


@needs("bubblewrap")
def test_nothing_may_work_between_two_decisions():
    text = b"""
import threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
def heuristic(clauses):
    return int(abs(clauses).max())
"""
    _, info = play(TASK, {"heuristic.py": text})
    assert info["outcome"] == "agent_fault"
    assert "left processes or threads running" in info["reason"]


def test_formulas(grader):
    draw = grader_of(TASK).draw_formulas
    formulas = draw(0, "test")
    assert formulas.shape == (200, 180, 3)
    variables = np.abs(formulas)
    assert (variables.min(), variables.max()) == (1, 40)
    ordered = np.sort(variables, axis=2)
    assert (np.diff(ordered, axis=2) > 0).all()
    assert (formulas < 0).mean() == pytest.approx(0.5, abs=0.01)
    assert (draw(0, "test") == formulas).all()
    for seed, split in ((1, "test"), (0, "validation")):
        assert (draw(seed, split) != formulas).mean() > 0.9


@pytest.mark.parametrize("seed", range(4))
def test_the_solver_is_right_whatever_it_is_told(grader, seed):
    rng = np.random.default_rng(seed)
    found = set()
    for _ in range(12):
        order = np.argsort(rng.random((32, 7)), axis=1)[:, :3] + 1
        clauses = order * rng.choice([-1, 1], order.shape)
        answer = _solved_at_random(grader.solve(clauses, 7), rng)
        assert answer == _satisfiable(clauses, 7)
        found.add(answer)
    assert found == {True, False}


def _solved_at_random(search, rng):
    told = None
    try:
        while True:
            rest = search.send(told)
            assert ((rest != 0).sum(axis=1) >= 2).all()
            told = int(rng.choice(rest[rest != 0])) * int(rng.choice([-1, 1]))
    except StopIteration as end:
        return end.value


def _satisfiable(clauses, variables):
    """Try everything."""
    for signs in product((-1, 1), repeat=variables):
        values = np.array((0, *signs))
        if (values[np.abs(clauses)] * np.sign(clauses) == 1).any(axis=1).all():
            return True
    return False


def test_heuristics_differ_in_decisions_and_not_in_answers(grader):
    first = graded(grader, heuristic=lambda clauses: int(np.abs(clauses[clauses != 0]).min()))
    better = graded(grader, heuristic=most_frequent)
    assert first.details["satisfiable"] == better.details["satisfiable"]
    assert better.value < first.value
    assert better.value == better.details["decisions"] / 12
    assert graded(grader, heuristic=most_frequent) == better
    assert graded(grader, seed=1, heuristic=most_frequent) != better
    assert graded(grader, split="validation", heuristic=most_frequent) != better


def test_a_literal_of_a_closed_variable_is_refused(grader):
    with pytest.raises(SubmissionRejected, match="expected a literal whose variable occurs"):
        graded(grader, heuristic=lambda clauses: 1)


@pytest.mark.parametrize("literal", [0, 41, -(2**63), 2**63 - 1, True, 1.0, "1", None, [1]])
def test_what_is_no_literal_is_refused(grader, literal):
    with pytest.raises(SubmissionRejected, match=r"heuristic\.py"):
        graded(grader, heuristic=lambda clauses: literal)


def test_too_many_decisions_are_refused(grader):
    grader.MOST = 50
    with pytest.raises(SubmissionRejected, match="more than 50 decisions for 12 formulas"):
        graded(grader, heuristic=most_frequent)
