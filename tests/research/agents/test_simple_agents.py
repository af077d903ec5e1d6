from __future__ import annotations

import subprocess
import sys

import pytest

from ludus.errors import ResearchError
from ludus.research import agents
from ludus.research.agents import (
    Agent,
    AgentStopped,
    RandomAgent,
    ReplayAgent,
    ScriptedAgent,
    StopReason,
)
from ludus.research.agents.simple import Difference
from ludus.research.running.trajectory import ResearchTrajectory, TrajectoryStep
from tests.research.agents.support import seen

OPEN = {"tool": "open", "arguments": {"path": "a"}}


def test_a_script_is_followed_and_ends():
    agent = ScriptedAgent(["ls", OPEN])
    assert isinstance(agent, Agent)
    for _ in range(2):
        agent.reset(seed=1)
        assert [agent.act(seen()), agent.act(seen())] == ["ls", OPEN]
        with pytest.raises(AgentStopped) as stopped:
            agent.act(seen())
        assert stopped.value.reason is StopReason.OVER


def test_a_script_goes_on_elsewhere():
    agent, other = ScriptedAgent("abc"), ScriptedAgent("abc")
    agent.act(seen())
    other.set_state(agent.get_state())
    assert other.act(seen()) == "b"


@pytest.mark.parametrize("action", [3, None, {}, {"tool": 1}, {"tool": "x", "extra": 1}])
def test_what_is_no_action_is_refused(action):
    with pytest.raises(ResearchError, match="Action 1"):
        ScriptedAgent(["ls", action])


def test_a_script_from_a_file(tmp_path):
    path = tmp_path / "script.yaml"
    path.write_text("- ls\n- |\n  cat a\n  cat b\n- {tool: open, arguments: {path: a}}\n")
    assert ScriptedAgent.from_file(path).actions == ("ls", "cat a\ncat b\n", OPEN)


@pytest.mark.parametrize(
    "text",
    ["ls", "{a: 1}", "- [", "- !!python/object/apply:os.system [ls]", "[" * 5000, "- 1", "\x00"],
)
def test_files_that_are_no_scripts_are_refused(tmp_path, text):
    path = tmp_path / "script.yaml"
    path.write_text(text)
    with pytest.raises(ResearchError):
        ScriptedAgent.from_file(path)
    with pytest.raises(ResearchError, match="cannot be read"):
        ScriptedAgent.from_file(tmp_path / "absent.yaml")


def test_a_replay_takes_the_same_actions_and_notes_other_results():
    steps = (
        TrajectoryStep(action="ls", output="a\n", exit_code=0),
        TrajectoryStep(action=OPEN, output="head", is_whole=False, exit_code=0),
        TrajectoryStep(action="submit", output="?"),
    )
    agent = ReplayAgent(ResearchTrajectory(task="t", steps=steps, source="test"))
    assert agent.act(seen("hello")) == "ls"
    assert agent.act(seen("a\nb\n", exit_code=2)) == OPEN
    assert agent.act(seen("other head")) == "submit"
    assert agent.differences == [
        Difference(0, "exit_code", 0, 2),
        Difference(0, "output", "a\n", "a\nb\n"),
    ]
    agent.reset()
    assert agent.differences == []


def taken(agent, count=50):
    return [agent.act(seen()) for _ in range(count)]


def test_random_actions_follow_from_the_seed():
    agent = RandomAgent(3)
    first = taken(agent)
    assert len(set(first)) > 10
    agent.reset()
    assert taken(agent) == first
    agent.reset(seed=4)
    assert taken(agent) != first
    assert taken(RandomAgent(1, submit_after=2), 4)[2:] == ["submit", "submit"]


def test_random_actions_go_on_elsewhere():
    agent, other = RandomAgent(5), RandomAgent(0)
    taken(agent, 7)
    other.set_state(agent.get_state())
    assert taken(other) == taken(agent)


def test_random_actions_are_harmless_commands(tmp_path):
    (tmp_path / "a.py").write_text("pass\n")
    agent = RandomAgent(0)
    for command in sorted({" ".join(c.split()) for c in taken(agent, 40)}):
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, timeout=20, check=False
        )
        assert b"not found" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"a.py", "notes"}


def test_every_name_can_be_had():
    for name in agents.__all__:
        assert getattr(agents, name)
    with pytest.raises(AttributeError):
        _ = agents.nothing


def test_openai_is_not_imported_before_it_is_needed():
    program = "import ludus.research.agents.react, sys; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
