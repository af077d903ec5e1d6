"""The Open Reward Standard's own client plays environments and research tasks that Ludus serves."""

from __future__ import annotations

import numpy as np
import pytest
from openreward import OpenReward
from openreward.api.errors import ToolCallError

import ludus
from ludus.research import load_task
from tests.peers.served import served

RESEARCH = "research/battleOfSexes"
GOOD = load_task("battleOfSexes").reference.joinpath("strategy.py").read_text()
IDS = ("CartPole-v1", "CarRacing-v3", RESEARCH)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    out = tmp_path_factory.mktemp("served")
    with (
        served(*IDS, "--protocol", "open-reward", "--out", str(out)) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in ("OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):
            patch.setenv(name, url)
        with OpenReward(api_key="unused") as made:
            yield lambda name: made.environments.get(
                f"ludus/{name.split('/')[-1]}", variant=name, base_url=url
            )


def test_tasks_are_seeds(client):
    env = client("CartPole-v1")
    assert env.list_splits() == ["train", "validation", "test"]
    count = env.num_tasks("train")
    task = env.get_task("train", 3)
    assert task.task_spec["seed"] == 3
    assert task.environment_name == "CartPole-v1"
    tasks = env.list_tasks("test")
    assert len(tasks) == count
    assert env.get_task_range("test", 2, 4) == tasks[2:4]
    seeds = {one.task_spec["seed"] for name in env.list_splits() for one in env.list_tasks(name)}
    assert len(seeds) == 3 * count


@pytest.mark.parametrize("how", ["task", "index"])
def test_an_episode_is_the_environments_own(client, how):
    env = client("CartPole-v1")
    given = {"task": env.get_task("train", 3)} if how == "task" else {"split": "train", "index": 3}
    with ludus.make("CartPole-v1") as local, env.session(**given) as session:
        observation, _ = local.reset(seed=3)
        about, first = session.get_prompt()
        assert "Keep a pole upright" in about.text
        np.testing.assert_allclose(np.float32(eval(first.text)), observation)
        assert session.get_messages()[0].role == "user"
        assert [tool.name for tool in session.list_tools()] == ["act"]
        is_over = False
        while not is_over:
            observation, reward, terminated, truncated, _ = local.step(1)
            output = session.call_tool("act", {"action": 1})
            np.testing.assert_allclose(np.float32(eval(output.blocks[0].text)), observation)
            is_over = terminated or truncated
            assert (output.reward, output.finished) == (reward, is_over)
            assert output.metadata == {"terminated": terminated, "truncated": truncated}
        with pytest.raises(ToolCallError) as late:
            session.call_tool("act", {"action": 1})
        assert late.value.reason == "episode_finished"


@pytest.mark.parametrize(
    ("tool", "given", "reason"),
    [
        ("reset", {}, "not_found"),
        ("act", {"action": 9}, "input_validation"),
        ("act", {"actions": 1}, "input_validation"),
    ],
)
def test_wrong_calls_have_reasons_and_change_nothing(client, tool, given, reason):
    with client("CartPole-v1").session(split="train", index=0) as session:
        with pytest.raises(ToolCallError) as wrong:
            session.call_tool(tool, given)
        assert wrong.value.reason == reason
        assert not session.call_tool("act", {"action": 0}).finished


def test_images_are_blocks(client):
    with client("CarRacing-v3").session(split="train", index=0) as session:
        assert [block.type for block in session.get_prompt()] == ["text", "text", "image"]
        output = session.call_tool("act", {"action": [0.0, 0.1, 0.0]})
        assert [block.type for block in output.blocks] == ["text", "image"]


def test_a_research_task_is_worked_on_and_graded(client):
    with client(RESEARCH).session(split="train", index=0) as session:
        names = {tool.name for tool in session.list_tools()}
        assert {"shell", "edit", "validate", "submit"} <= names
        assert "strategy(mine, theirs)" in session.get_prompt()[0].text
        # Longer than a piece of an answer, with spaces at every place where a piece may begin.
        wide = session.call_tool("shell", {"command": "printf '%8000s|' x; seq 1 3000"})
        assert " " * 7000 + "x|1" in wide.blocks[0].text.replace(" " * 7999, " " * 7000)
        session.call_tool("shell", {"command": "rm strategy.py"})
        session.call_tool("create", {"path": "strategy.py", "text": GOOD})
        checked = session.call_tool("validate", {})
        last = session.call_tool("submit", {})
        assert last.finished
        assert checked.reward > 0.5
        assert checked.reward + last.reward == pytest.approx(checked.reward, abs=0.3)
        assert last.metadata == {"terminated": True, "truncated": False}
