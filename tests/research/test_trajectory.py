from __future__ import annotations

import pytest

from ludus.errors import RecordError
from ludus.record import Run
from ludus.research.running.trajectory import trajectory_of_run


def test_a_run_is_read_back(tmp_path):
    subject = {"task": "t", "description": "Do it.", "agent": "react", "model": "m"}
    call = {"tool": "open", "arguments": {"path": "a"}}
    with Run.create(tmp_path / "run", kind="research", subject=subject) as run:
        run.append("step", {"n": 0, "action": "ls", "output": "a\n", "exit_code": 0, "seconds": 1})
        run.append("step", {"n": 1, "action": call, "head": "x", "tail": "y", "validation": 0.5})
        run.append("step", {"n": 2, "action": "submit", "head": "all", "exit_code": True})
        run.append("result", {"metric": "mae", "value": 0.25})
    read = trajectory_of_run(tmp_path / "run")
    assert (read.task, read.instruction, read.agent, read.model) == ("t", "Do it.", "react", "m")
    assert [step.action for step in read.steps] == ["ls", call, "submit"]
    assert [step.is_whole for step in read.steps] == [True, False, True]
    assert [step.output for step in read.steps] == ["a\n", "x\n[…]\ny", "all"]
    assert (read.steps[1].validation, read.steps[2].exit_code) == (0.5, None)
    assert read.scores == ({"mae": 0.25},)
    assert read.outcome == "complete"


def test_other_runs_are_refused(tmp_path):
    with Run.create(tmp_path / "a", kind="bench", subject={}):
        pass
    with pytest.raises(RecordError, match="'bench'"):
        trajectory_of_run(tmp_path / "a")
    with Run.create(tmp_path / "b", kind="research", subject={}) as run:
        run.append("step", {"n": 0})
    with pytest.raises(RecordError, match="no action"):
        trajectory_of_run(tmp_path / "b")


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"outcome": "scored", "value": 0.9}, ("scored", ({"m": 0.9},), 0.8)),
        ({"outcome": "scored", "value": -7.0}, ("scored", ({"m": 0.0},), -1.0)),
        ({"outcome": "agent_fault", "value": None}, ("agent_fault", ({"m": 0.0},), -1.0)),
        ({"outcome": "agent_fault", "value": 0.9}, ("agent_fault", ({"m": 0.0},), -1.0)),
        ({"outcome": "infrastructure_fault", "value": 0.9}, ("", (), None)),
        ({"outcome": "splendid", "value": 0.9}, ("", (), None)),
    ],
)
def test_a_fault_counts_as_the_floor_whatever_the_record_claims(claim, expected, tmp_path):
    scale = {"metric": "m", "threshold": 1.0, "baseline": 0.5, "floor": 0.0, "direction": "higher"}
    with Run.create(tmp_path / "run", kind="research", subject={"evaluation": scale}) as run:
        run.append("result", {"metric": "m", "normalised": 1.0, **claim})
    read = trajectory_of_run(tmp_path / "run")
    assert (read.graded, read.scores) == expected[:2]
    assert read.normalised == (None if expected[2] is None else pytest.approx(expected[2]))
