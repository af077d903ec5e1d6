from __future__ import annotations

import json

import pytest

from ludus.interop.atif import to_atif, write_atif
from ludus.research.running.trajectory import ResearchTrajectory, TrajectoryStep

STEPS = (
    TrajectoryStep(action="ls", thought="I look.", output="a\n", exit_code=0, seconds=0.1),
    TrajectoryStep(
        action={"tool": "open", "arguments": {"path": "a"}},
        thought="Now a.",
        response="Now a. <call>",
        output="1: x",
        is_whole=False,
        validation=0.5,
        state={"cwd": "/workspace"},
    ),
)
TRAJECTORY = ResearchTrajectory(
    task="t",
    steps=STEPS,
    source="ludus",
    instruction="Do it.",
    agent="react",
    model="m",
    outcome="complete",
    scores=({"mae": 0.2},),
    prompt_tokens=10,
    completion_tokens=5,
    calls=2,
    cost=0.01,
)


def test_steps_are_numbered_and_results_refer_to_their_calls():
    body = to_atif(TRAJECTORY, session="s1")
    assert body["schema_version"] == "ATIF-v1.8"
    assert [step["step_id"] for step in body["steps"]] == [1, 2, 3]
    assert [step["source"] for step in body["steps"]] == ["user", "agent", "agent"]
    for step in body["steps"][1:]:
        (call,), (result,) = step["tool_calls"], step["observation"]["results"]
        assert result["source_call_id"] == call["tool_call_id"]
    assert body["steps"][1]["tool_calls"][0]["arguments"] == {"command": "ls"}
    assert body["steps"][2]["tool_calls"][0]["function_name"] == "open"
    assert body["steps"][2]["extra"]["output_is_whole"] is False
    assert body["final_metrics"] == {
        "total_prompt_tokens": 10,
        "total_completion_tokens": 5,
        "total_cost_usd": 0.01,
        "total_steps": 3,
    }


def test_users_steps_have_no_fields_of_the_agent_and_nothing_is_null():
    body = to_atif(ResearchTrajectory(task="t", steps=STEPS, source="mlgym"))
    assert body["steps"][0] == {"step_id": 1, "source": "user", "message": "t"}
    assert body["agent"] == {"name": "unknown", "version": "unknown"}
    assert "null" not in json.dumps(body)


def test_it_writes_a_new_file_and_no_other(tmp_path):
    path = tmp_path / "trajectory.json"
    write_atif(TRAJECTORY, path)
    assert json.loads(path.read_text("utf-8")) == to_atif(TRAJECTORY)
    with pytest.raises(FileExistsError):
        write_atif(TRAJECTORY, path)
