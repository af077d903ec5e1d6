"""rlBreakoutMinAtar, rlMetaMaze and rlMountainCarContinuous, which are graded in the same way."""

from __future__ import annotations

import numpy as np
import pytest

from tests.research.tasks.playing import play
from tests.research.tasks.policy_files import evaluated, fault, policy_files
from tests.sampling import sampled
from tests.sandbox.support import needs

pytestmark = [needs("bubblewrap", root=True), pytest.mark.slow]

BREAKOUT, MAZE, CAR = "rlBreakoutMinAtar", "rlMetaMaze", "rlMountainCarContinuous"
PLAIN = {
    BREAKOUT: "np.arange(n) % 3",
    MAZE: "np.arange(n) % 4",
    CAR: "np.where(observations[:, 1] >= 0, 1.0, -1.0)",
}
REFUSED = [
    (BREAKOUT, "np.zeros(n + 1, np.int64)", "256 ints from 0 to 2"),
    (BREAKOUT, "np.full(n, 3)", "256 ints from 0 to 2"),
    (BREAKOUT, "np.zeros(n)", "256 ints from 0 to 2"),
    (BREAKOUT, "np.full(n, np.nan)", "not finite"),
    (BREAKOUT, "observations.clear()", "raised"),
    (MAZE, "np.zeros(n + 1, np.int64)", "256 ints from 0 to 3"),
    (MAZE, "np.full(n, 4)", "256 ints from 0 to 3"),
    (CAR, "np.zeros(n + 1)", "shape (256, 1)"),
    (CAR, "np.zeros((n, 2))", "shape (256, 1)"),
    (CAR, "np.full(n, np.nan)", "not finite"),
    (CAR, "'right'", "shape (256, 1)"),
]
some_task = pytest.mark.parametrize("task", sampled(PLAIN, 1))


@some_task
def test_seed_and_split_decide_on_the_environments(task):
    files = policy_files(PLAIN[task])
    _, first = play(task, files, validate=True)
    _, again = play(task, files, validate=True)
    _, other = play(task, files, seed=1)
    assert first["score"] == again["score"]
    assert first["validation_score"] == again["validation_score"]
    assert len({first["score"], first["validation_score"], other["score"]}) == 3


@some_task
def test_agents_can_evaluate_as_the_grader_does(task):
    *lines, last = evaluated(task, policy_files(PLAIN[task])).splitlines()
    assert [line.partition(":")[0] for line in lines[-5:]] == [f"policy {n}" for n in range(5)]
    assert last.startswith("all: ")


@pytest.mark.parametrize(("task", "answer", "why"), sampled(REFUSED, 4, by=lambda row: row[0]))
def test_what_are_no_actions_is_refused(task, answer, why):
    assert why in fault(task, policy_files(answer))


@pytest.mark.parametrize("weights", [np.array([1.0, np.nan]), np.array([{}], object)])
def test_weights_must_be_finite_numbers(weights):
    said = fault(MAZE, policy_files(PLAIN[MAZE], weights=weights))
    assert "not finite" in said or "weights.npz" in said
