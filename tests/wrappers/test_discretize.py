from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.spaces import Box, Discrete, MultiDiscrete
from ludus.wrappers import DiscretizeAction, DiscretizeObservation
from tests.wrappers.script_env import ScriptEnv

SQUARE = Box(np.float32([0, -1]), np.float32([10, 1]))


def action_env(**arguments: Any) -> DiscretizeAction[Any, Any, Any]:
    return DiscretizeAction(ScriptEnv(action_space=SQUARE), **arguments)


def observation_env(**arguments: Any) -> DiscretizeObservation[Any, Any, Any]:
    return DiscretizeObservation(ScriptEnv(space=SQUARE), **arguments)


def test_actions_mean_the_centres() -> None:
    env = action_env(bins=(5, 2))
    assert env.action_space == Discrete(10)
    centers = [tuple(env.action(number).tolist()) for number in range(10)]
    assert centers == [(x, y) for x in (1, 3, 5, 7, 9) for y in (-0.5, 0.5)]
    assert env.action(0).dtype == np.float32
    assert [env.revert_action(env.action(number)) for number in range(10)] == list(range(10))


def test_actions_by_component() -> None:
    env = action_env(bins=(5, 2), multidiscrete=True)
    assert env.action_space == MultiDiscrete([5, 2])
    assert env.action([4, 0]).tolist() == [9, -0.5]
    assert env.action([99, -3]).tolist() == [9, -0.5], "beyond the last bin is the last bin"
    assert env.revert_action(np.float32([8.2, 0.3])).tolist() == [4, 1]


def test_observations_are_numbers_of_cells() -> None:
    env = observation_env(bins=(5, 2))
    assert env.observation_space == Discrete(10)
    for number in range(10):
        low, high = env.revert_observation(number)
        middle = (low + high) / 2
        assert env.observation(middle) == number
        assert isinstance(env.observation(middle), int)
    assert env.observation(np.float32([10, 1])) == 9
    assert env.observation(np.float32([-50, 50])) == 1


def test_observations_by_component() -> None:
    env = observation_env(bins=4, multidiscrete=True)
    assert env.observation_space == MultiDiscrete([4, 4])
    indices = env.observation(np.float32([9, -0.2]))
    assert indices.tolist() == [3, 1]
    low, high = env.revert_observation(indices)
    assert low.tolist() == [7.5, -0.5]
    assert high.tolist() == [10, 0]


@pytest.mark.parametrize("make", [action_env, observation_env])
def test_bad_bins(make: Any) -> None:
    with pytest.raises(ValueError, match="3 entries for 2"):
        make(bins=(1, 2, 3))
    with pytest.raises(TypeError):
        make(bins=2.5)


def test_bad_spaces() -> None:
    with pytest.raises(TypeError, match="needs a Box as action space"):
        DiscretizeAction(ScriptEnv(), 3)
    with pytest.raises(TypeError, match="needs a Box as observation space"):
        DiscretizeObservation(ScriptEnv(space=Discrete(3)), 3)
    with pytest.raises(ValueError, match="finite"):
        DiscretizeObservation(ScriptEnv(space=Box(-np.inf, 1, (2,))), 3)
