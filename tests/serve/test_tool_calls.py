from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

import ludus
from ludus.errors import InvalidAction
from ludus.research.tools.calls import tool_schemas
from ludus.serve import Served
from ludus.serve.schemas import dumps, writer
from ludus.serve.tool_calls import (
    action_of,
    instructions,
    is_picture,
    observation_data,
    observation_schema,
    tools_of,
    view_of,
)
from ludus.spaces import Box, Dict, Discrete

IDS = (
    "CartPole-v1", "FrozenLake-v1", "Blackjack-v1", "Pendulum-v1", "Hopper-v5", "CarRacing-v3",
    "Copy-v0", "MinAtar/Breakout-v1",
)  # fmt: skip
RESEARCH = Served.of("research/battleOfSexes")


@pytest.mark.parametrize("name", [name for name in IDS if name in ludus.registry])
def test_an_environment_has_one_tool_that_takes_every_action(name):
    served = Served.of(name)
    (tool,) = tools_of(served)
    assert tool.name == "act"
    jsonschema.Draft202012Validator.check_schema(tool.parameters)
    served.action_space.seed(0)
    with served.make() as env:
        observation, _ = env.reset(seed=0)
        for _ in range(5):
            sample = served.action_space.sample()
            told = json.loads(dumps({"action": writer(served.action_space)(sample)}))
            jsonschema.validate(told, tool.parameters)
            action = action_of(served, "act", told)
            assert served.action_space.contains(action)
            np.testing.assert_array_equal(
                np.asarray(action, dtype=object), np.asarray(sample, dtype=object)
            )
        view = view_of(served, observation)
        jsonschema.validate(view.data, observation_schema(served))


def test_research_tools_are_the_shell_and_every_named_tool():
    functions = {one["function"]["name"]: one["function"] for one in tool_schemas()}
    tools = {tool.name: tool for tool in tools_of(RESEARCH)}
    assert tools.keys() == functions.keys() >= {"shell", "open", "validate", "submit", "jobs"}
    assert tools["edit"].parameters == functions["edit"]["parameters"]
    assert not {"reset", "step", "state", "close", "reward"} & tools.keys()
    for name in tools:
        action = action_of(RESEARCH, name, {})
        assert RESEARCH.action_space.contains(action)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("reset", {}, "there are: act"),
        ("act", {}, "takes one argument"),
        ("act", {"action": 1, "seed": 2}, "takes one argument"),
        ("act", {"action": 2}, "Discrete(2)"),
        ("act", {"action": True}, "Discrete(2)"),
        ("act", {"action": "1"}, "Discrete(2)"),
        ("act", {"action": None}, "Discrete(2)"),
        ("act", {"action": [[[[]]]]}, "Discrete(2)"),
        ("act", {"action": 10**400}, "Discrete(2)"),
    ],
)
def test_what_is_no_action_is_refused(tool, arguments, said):
    with pytest.raises(InvalidAction, match=said.replace("(", r"\(").replace(")", r"\)")):
        action_of(Served.of("CartPole-v1"), tool, arguments)


@pytest.mark.parametrize(
    "arguments",
    [{"command": "x" * (1 << 20)}, {"command": "\ud800"}],
    ids=["long", "half a character"],
)
def test_calls_that_no_record_can_hold_are_refused(arguments):
    with pytest.raises(InvalidAction):
        action_of(RESEARCH, "shell", arguments)


def test_images_are_pictures_and_small_grids_are_numbers():
    picture = Box(0, 255, (96, 96, 3), np.uint8)
    assert is_picture(picture)
    assert is_picture(Box(0, 255, (84, 84), np.uint8))
    for other in (Box(0, 255, (7, 7, 3), np.uint8), Box(0, 1, (96, 96, 3)), Discrete(3)):
        assert not is_picture(other)


def test_an_image_in_a_dict_is_named_in_the_data(monkeypatch):
    served = Served.of("CartPole-v1")
    space = Dict({"eye": Box(0, 255, (32, 32, 3), np.uint8), "speed": Box(-np.inf, np.inf, ())})
    monkeypatch.setattr(Served, "observation_space", space)
    member = {"eye": np.zeros((32, 32, 3), np.uint8), "speed": np.float32(np.inf)}
    view = view_of(served, member)
    assert view.data == {"eye": "picture 1", "speed": "inf"}
    assert [png[1:4] for png in view.pictures] == [b"PNG"]
    jsonschema.validate(view.data, observation_schema(served))
    assert len(observation_data(served, member)["eye"]) == 32


def test_instructions_tell_what_to_do():
    assert "strategy(mine, theirs)" in instructions(RESEARCH)
    assert "with a hint" in instructions(RESEARCH, {"task": "with a hint"})
    told = instructions(Served.of("CartPole-v1"))
    assert "Keep a pole upright" in told
    assert "500 steps" in told
