"""Both servers, reached by the official client in both eras, in one process."""

from __future__ import annotations

import base64
import json

import mcp
import numpy as np
import pytest

import ludus
from tests.serve.mcp.support import ERAS, run, sides, text_of

OPERATIONS = {"new_episode", "observe", "close", "save", "restore"}


@pytest.mark.parametrize("era", ERAS)
def test_an_episode_is_the_environments_own(era, tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path, era) as both:
            with ludus.make("CartPole-v1") as env:
                observation, _ = env.reset(seed=3)
                begun = await both.ask("new_episode", seed=3)
                np.testing.assert_array_equal(np.float32(begun["observation"]), observation)
                total, is_over = 0.0, False
                while not is_over:
                    observation, reward, terminated, truncated, _ = env.step(1)
                    result = await both.act(begun["episode"], 1)
                    found = result.structured_content
                    np.testing.assert_array_equal(np.float32(found["observation"]), observation)
                    total, is_over = total + float(reward), terminated or truncated
                    assert found["over"] is is_over
                told = await both.ask("observe", episode=begun["episode"])
                assert (told["total_reward"], told["terminated"]) == (total, True)
                assert told["over"]
                assert "over" in text_of(result)
                late = await both.act(begun["episode"], 1)
                assert late.is_error
                assert "episode is over" in text_of(late)

    run(work())


@pytest.mark.parametrize("era", ERAS)
def test_the_agent_has_its_actions_and_nothing_else(era, tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path, era) as both:
            tools = (await both.agent.list_tools()).tools
            assert [tool.name for tool in tools] == ["act"]
            handle = tools[0].input_schema["properties"]["episode"]
            assert handle["x-mcp-header"] == "Episode"
            assert {tool.name for tool in (await both.operator.list_tools()).tools} == OPERATIONS
            episode = await both.begin(seed=0)
            for name in (*OPERATIONS, "reset", "state", "step", "reward", "__init__", ""):
                with pytest.raises(mcp.MCPError, match="There is no tool"):
                    await both.agent.call_tool(name, {"episode": episode})
            with pytest.raises(mcp.MCPError):
                await both.agent.get_prompt("anything")
            assert (await both.ask("observe", episode=episode))["steps"] == 0

    run(work())


@pytest.mark.parametrize("rewards", [False, True])
def test_rewards_are_told_only_where_the_operator_allows(rewards, tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path, rewards=rewards) as both:
            result = await both.act(await both.begin(seed=0), 0)
            expected = {"observation", "over"}
            if rewards:
                expected |= {"reward", "terminated", "truncated", "steps_left"}
                assert result.structured_content["reward"] == 1.0
                assert result.structured_content["steps_left"] == 499
            assert result.structured_content.keys() == expected
            (tool,) = (await both.agent.list_tools()).tools
            assert tool.output_schema["properties"].keys() == expected

    run(work())


@pytest.mark.parametrize("era", ERAS)
def test_a_saved_state_continues_in_a_new_episode(era, tmp_path):
    async def work() -> None:
        async with sides("MountainCar-v0", tmp_path, era) as both:
            first = await both.begin(seed=5)
            await both.act(first, 2)
            saved = await both.ask("save", episode=first)
            onwards = [(await both.act(first, 0)).structured_content for _ in range(3)]
            copied = await both.ask("restore", state=saved["state"])
            assert copied["episode"] != first
            assert (copied["steps"], copied["seed"]) == (1, 5)
            again = [(await both.act(copied["episode"], 0)).structured_content for _ in range(3)]
            assert again == onwards
            back = await both.ask("restore", state=saved["state"], episode=first)
            assert (back["episode"], back["steps"]) == (first, 1)
            assert (await both.act(first, 0)).structured_content == onwards[0]

    run(work())


def test_a_state_of_another_environment_is_refused(tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path) as both:
            saved = await both.ask("save", episode=await both.begin(seed=0))
        async with sides("Acrobot-v1", tmp_path) as both:
            refused = await both.operator.call_tool("restore", saved)
            assert refused.is_error
            assert "The state is of 'CartPole-v1'" in text_of(refused)
            episode = await both.begin(seed=0)
            await both.operator.call_tool("restore", {**saved, "episode": episode})
            assert not (await both.act(episode, 0)).is_error

    run(work())


@pytest.mark.parametrize("era", ERAS)
def test_resources(era, tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path, era) as both:
            agent, episode = both.agent, await both.begin(seed=0)
            uris = [one.uri for one in (await agent.list_resources()).resources]
            assert uris == ["task://CartPole-v1/instructions", "task://CartPole-v1/spaces"]
            (told,) = (await agent.read_resource(uris[0])).contents
            assert "Keep a pole upright" in told.text
            (spaces,) = (await agent.read_resource(uris[1])).contents
            assert json.loads(spaces.text)["action"]["schema"]["maximum"] == 1
            templates = (await agent.list_resource_templates()).resource_templates
            names = [one.uri_template.replace("{episode}", episode) for one in templates]
            (seen,) = (await agent.read_resource(names[0])).contents
            assert (
                json.loads(seen.text) == (await both.ask("observe", episode=episode))["observation"]
            )
            pictures = []
            for _ in range(2):
                (picture,) = (await agent.read_resource(names[1])).contents
                assert picture.mime_type == "image/png"
                pictures.append(base64.b64decode(picture.blob))
                for _ in range(5):
                    await both.act(episode, 1)
            assert pictures[0][1:4] == b"PNG"
            assert pictures[0] != pictures[1]
            for wrong in (
                "task://CartPole-v1/reward",
                "task://CartPole-v1/instructions/../spaces",
                "task://CartPole-v1/episodes/0/observation",
                f"task://CartPole-v1/episodes/{episode}/instructions",
                f"task://CartPole-v1/episodes/{episode}/../spaces",
                "task://FrozenLake-v1/instructions",
                "file:///etc/passwd",
                "",
            ):
                with pytest.raises(mcp.MCPError):
                    await agent.read_resource(wrong)

    run(work())


def test_images_are_blocks_of_content(tmp_path):
    async def work() -> None:
        async with sides("CarRacing-v3", tmp_path) as both:
            begun = await both.operator.call_tool("new_episode", {"seed": 0})
            assert [block.type for block in begun.content] == ["text", "image"]
            result = await both.act(begun.structured_content["episode"], [0.0, 0.5, 0.0])
            assert [block.type for block in result.content] == ["text", "image"]
            assert result.structured_content["observation"] == "picture 1"
            assert base64.b64decode(result.content[1].data)[1:4] == b"PNG"

    run(work())


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("new_episode", {"seed": -1}, "seed"),
        ("new_episode", {"seed": "1"}, "seed"),
        ("new_episode", {"seed": 2**63}, "seed"),
        ("new_episode", {"options": []}, "options"),
        ("new_episode", {"reward": 1}, "reward"),
        ("observe", {}, "episode"),
        ("observe", {"episode": "0" * 32}, "never was one"),
        ("observe", {"episode": "0" * 101}, "episode"),
        ("save", {"episode": "0" * 32}, "never was one"),
        ("restore", {"state": "../../etc/passwd"}, "state"),
        ("restore", {"state": "0" * 32}, "no saved state"),
        ("close", {"episode": "0" * 32, "grade": "yes"}, "grade"),
    ],
)
def test_an_operators_mistakes_are_explained(tool, arguments, said, tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path) as both:
            result = await both.operator.call_tool(tool, arguments)
            assert result.is_error
            assert said in text_of(result)

    run(work())


def test_a_closed_episode_is_gone(tmp_path):
    async def work() -> None:
        async with sides("CartPole-v1", tmp_path) as both:
            episode = await both.begin(seed=0)
            told = await both.ask("close", episode=episode)
            assert (told["steps"], told["over"]) == (0, False)
            late = await both.act(episode, 0)
            assert late.is_error
            assert "closed" in text_of(late)
            assert (await both.operator.call_tool("observe", {"episode": episode})).is_error

    run(work())
