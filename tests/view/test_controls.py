from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import ludus
from ludus.errors import Error
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from ludus.view.playing.keys import controls_of
from ludus.view.playing.values import typed_action

IDS = [
    "CartPole-v1",
    "MountainCar-v0",
    "Pendulum-v1",
    "FrozenLake-v1",
    "Taxi-v3",
    "MinAtar/Breakout-v0",
    "FourRooms-v0",
    "Maze/Empty-5x5-v0",
    "TicTacToe-v1",
    "LunarLander-v3",
    "CarRacing-v3",
    "ALE/Pong-v5",
]


@pytest.mark.parametrize("env_id", IDS)
def test_every_key_is_an_action_of_the_environment(env_id):
    env = ludus.make(env_id)
    controls = controls_of(env, env_id)
    assert controls.buttons()
    for button in controls.buttons():
        action = controls.action(button["keys"])
        assert action is not None
        assert env.action_space.contains(action), (button, action)
    if controls.noop is not None:
        assert env.action_space.contains(controls.noop)
    env.close()


def test_keys_go_where_they_point():
    env = ludus.make("FrozenLake-v1", is_slippery=False)
    env.reset(seed=0)
    controls = controls_of(env, "FrozenLake-v1")
    assert env.step(controls.action({"right"}))[0] == 1
    assert env.step(controls.action({"left"}))[0] == 0
    assert env.step(controls.action({"down"}))[0] == 4
    assert env.step(controls.action({"up"}))[0] == 0
    car = controls_of(ludus.make("CarRacing-v3"), "CarRacing-v3")
    assert car.action({"left", "up"}).tolist() == [-1.0, 1.0, 0.0]
    pong = controls_of(ludus.make("ALE/Pong-v5"), "ALE/Pong-v5")
    assert pong.action({"right"}) == pong.action({"d"})
    assert {"d", "right"} <= set(pong.keys())
    assert ["right"] in [button["keys"] for button in pong.buttons()]
    assert ["d"] not in [button["keys"] for button in pong.buttons()]
    assert pong.noop == 0


def test_of_keys_that_mean_nothing_together_a_part_counts():
    env = ludus.make("CartPole-v1")
    controls = controls_of(env, "CartPole-v1")
    assert controls.action({"left", "x"}) == 0
    assert controls.action({"x"}) is None
    assert controls.noop is None


SPACES = [
    (Discrete(3), 2, 3),
    (Box(-1, 1, (2,)), [0.5, -1], [0.5, 2]),
    (MultiDiscrete([2, 3]), [1, 2], [1, 3]),
    (MultiBinary(2), [0, 1], [0, 2]),
    (Tuple([Discrete(2), Box(0, 1, (1,))]), [1, [0.5]], [1]),
    (Dict(OrderedDict(a=Discrete(2))), {"a": 1}, {"b": 1}),
    (Text(5, charset="ab"), "ab", "abc"),
]


@pytest.mark.parametrize(("space", "good", "bad"), SPACES, ids=lambda one: type(one).__name__)
def test_typed_actions_are_members_of_the_space(space, good, bad):
    assert space.contains(typed_action(space, good))
    for wrong in (bad, None, "x" * 9, [[[]]], {"z": 1}, 10**400, float("nan"), True):
        with pytest.raises(Error, match="is no action"):
            typed_action(space, wrong)


def test_typed_numbers_have_the_dtype_of_the_space():
    assert typed_action(Box(0, 1, (1,), np.float32), [0.5]).dtype == np.float32
