"""rlMountainCarContinuous."""

from __future__ import annotations

import numpy as np
import pytest

from tests.research.tasks.playing import check_record, play, played
from tests.research.tasks.policy_files import evaluated, fault, policy_files
from tests.sandbox.support import needs

pytestmark = [needs("bubblewrap", root=True), pytest.mark.slow]

ID = "rlMountainCarContinuous"
PLAIN = policy_files("np.where(observations[:, 1] >= 0, 1.0, -1.0)")


@pytest.mark.timeout(600)
def test_solutions_score_what_is_recorded():
    check_record(ID)
    total, info = played(ID, "reference")
    assert total > 1  # beyond the threshold
    assert info["final"]["details"]["episodes"] == 1280


def test_seed_and_split_decide_on_the_environments():
    _, first = play(ID, PLAIN, validate=True)
    _, again = play(ID, PLAIN, validate=True)
    _, other = play(ID, PLAIN, seed=1)
    assert first["score"] == again["score"]
    assert first["validation_score"] == again["validation_score"]
    assert len({first["score"], first["validation_score"], other["score"]}) == 3


def test_agents_can_evaluate_as_the_grader_does():
    *lines, last = evaluated(ID, PLAIN).splitlines()
    assert [line.partition(":")[0] for line in lines[-5:]] == [f"policy {n}" for n in range(5)]
    assert last.startswith("all: ")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("np.zeros(n + 1)", "shape (256, 1)"),
        ("np.zeros((n, 2))", "shape (256, 1)"),
        ("np.full(n, np.nan)", "not finite"),
        ("\x27right\x27", "shape (256, 1)"),
        ("observations.clear()", "raised"),
    ],
)
def test_what_are_no_actions_is_refused(answer, why):
    assert why in fault(ID, policy_files(answer))


def test_weights_must_be_finite_numbers():
    bad = policy_files(
        "np.where(observations[:, 1] >= 0, 1.0, -1.0)", weights=np.array([1.0, np.nan])
    )
    assert "not finite" in fault(ID, bad)
    bad = policy_files(
        "np.where(observations[:, 1] >= 0, 1.0, -1.0)", weights=np.array([{}], object)
    )
    assert "weights.npz" in fault(ID, bad)
