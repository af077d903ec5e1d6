from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.errors import ResearchError
from ludus.interop.mlgym_traj import read_mlgym_traj
from ludus.research.agents import ReplayAgent
from ludus.research.running.trajectory import TrajectoryStep

FILE = {
    "environment": "rlMountainCarContinuous",
    "trajectory": [
        {
            "state": '{"open_file": "n/a", "working_dir": "/home/agent/workspace"}',
            "response": "I look.\n```\nls -F\n```",
            "thought": "I look.",
            "action": "ls -F\n",
            "execution_time": 0.51,
            "observation": "src/\n",
        },
        {
            "state": {"open_file": "a.py"},
            "response": "",
            "thought": "",
            "action": "submit",
            "execution_time": 2,
            "observation": None,
        },
    ],
    "history": [
        {"role": "system", "content": "rules", "agent": "primary"},
        {"role": "user", "content": "a demonstration", "is_demo": True},
        {"role": "user", "content": "the task", "agent": "primary"},
        {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "ls -F\n"},
    ],
    "info": {
        "model_stats": {
            "total_cost": 3.5,
            "instance_cost": 1.25,
            "tokens_sent": 1000,
            "tokens_received": 200,
            "api_calls": 2,
        },
        "exit_status": "submitted",
        "submission": "submission.csv",
        "score": [{"Reward Mean": 33.8, "Reward Std": 1}, {"Reward Mean": 60}],
    },
}


@pytest.fixture
def write(tmp_path):
    def written(content, name="run.traj"):
        path = tmp_path / name
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        path.write_bytes(raw)
        return path

    return written


def test_what_a_file_says_is_what_is_read(write):
    read = read_mlgym_traj(write(FILE))
    assert (read.task, read.source, read.agent) == ("rlMountainCarContinuous", "mlgym", "primary")
    assert read.instruction == "the task"
    assert read.outcome == "submitted"
    assert read.scores == ({"Reward Mean": 33.8, "Reward Std": 1.0}, {"Reward Mean": 60.0})
    assert (read.prompt_tokens, read.completion_tokens, read.calls) == (1000, 200, 2)
    assert read.cost == 1.25
    assert read.steps[0] == TrajectoryStep(
        action="ls -F",
        thought="I look.",
        response="I look.\n```\nls -F\n```",
        output="src/\n",
        seconds=0.51,
        state={"open_file": "n/a", "working_dir": "/home/agent/workspace"},
    )
    assert read.steps[1].output == ""


def test_its_actions_can_be_replayed(write):
    agent = ReplayAgent(read_mlgym_traj(write(FILE)))
    assert [agent.act({}), agent.act({})] == ["ls -F", "submit"]


def test_less_is_enough(write):
    read = read_mlgym_traj(write({"trajectory": []}, "task-7.traj"))
    assert (read.task, read.steps, read.cost, read.scores) == ("task-7", (), None, ())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 200_000,
        [],
        {},
        "text",
        {"trajectory": {}},
        {"trajectory": [3]},
        {"trajectory": [{}]},
        {"trajectory": [{"action": ["ls"]}]},
        {"trajectory": [{"action": "x"}] * 10_001},
    ],
)
def test_what_is_no_trajectory_is_refused(write, content):
    with pytest.raises(ResearchError, match=r"run\.traj"):
        read_mlgym_traj(write(content))


def test_files_that_cannot_be_read_are_refused(tmp_path, write, monkeypatch):
    os.mkfifo(tmp_path / "pipe.traj")
    for name in ("pipe.traj", "absent.traj", "."):
        with pytest.raises(ResearchError, match="cannot be read"):
            read_mlgym_traj(tmp_path / name)
    monkeypatch.setattr("ludus.interop.mlgym_traj.MAX_BYTES", 100)
    with pytest.raises(ResearchError, match="more than 100 bytes"):
        read_mlgym_traj(write(FILE))


def test_hostile_values_do_no_harm(write):
    raw = json.dumps(FILE).replace("0.51", "1e999").replace("1000,", "9" * 400 + ",")
    raw = raw.replace("33.8", "NaN").replace("src/", "\\ud800")
    read = read_mlgym_traj(write(raw.encode()))
    assert read.steps[0].seconds is None
    assert read.prompt_tokens is None
    assert read.scores[0] == {"Reward Std": 1.0}
    read.steps[0].output.encode()


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_values_in_its_fields_are_read_or_refused(tmp_path_factory, data):
    def mangled(value):
        if isinstance(value, dict):
            return {k: mangled(v) for k, v in value.items() if data.draw(st.integers(0, 9))}
        if isinstance(value, list):
            return [mangled(item) for item in value]
        return value if data.draw(st.booleans()) else data.draw(PLAIN)

    path = tmp_path_factory.getbasetemp() / "any.traj"
    path.write_text(json.dumps(mangled(FILE)))
    try:
        read = read_mlgym_traj(path)
    except ResearchError:
        return
    for score in read.scores:
        assert all(type(value) is float for value in score.values())
    assert all(isinstance(step.action, str) for step in read.steps)
