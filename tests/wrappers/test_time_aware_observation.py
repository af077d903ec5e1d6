from __future__ import annotations

import numpy as np
import pytest

from ludus.core import EnvSpec
from ludus.spaces import Box, Dict, Tuple
from ludus.wrappers import OrderEnforcing, TimeAwareObservation, TimeLimit
from tests.wrappers.script_env import ScriptEnv


def limited(**arguments: object) -> OrderEnforcing[object, object]:
    return OrderEnforcing(TimeLimit(ScriptEnv(**arguments), 4))  # type: ignore[arg-type]


def test_time_is_the_last_component() -> None:
    env = TimeAwareObservation(limited())
    assert env.max_timesteps == 4
    assert env.observation_space.shape == (2,)
    seen = [env.reset()[0], env.step(0)[0], env.step(0)[0], env.reset()[0]]
    assert [tuple(observation) for observation in seen] == [(0, 0), (1, 1), (2, 2), (0, 0)]
    assert all(observation in env.observation_space for observation in seen)


def test_time_as_part_of_the_limit() -> None:
    env = TimeAwareObservation(limited(), flatten=False, normalize_time=True)
    env.reset()
    observation = env.step(0)[0]
    assert observation == {"obs": 1, "time": np.float32(0.25)}
    assert observation in env.observation_space


def test_dict_and_tuple_are_extended() -> None:
    box = Box(-100, 100, (1,), np.float32)
    inside = limited(observations=[{"a": np.float32([1])}] * 3, space=Dict(a=box))
    env = TimeAwareObservation(inside, flatten=False, dict_time_key="clock")
    observation = env.reset()[0]
    assert set(observation) == {"a", "clock"}
    assert observation in env.observation_space
    with pytest.raises(ValueError, match="already has the key"):
        TimeAwareObservation(inside, dict_time_key="a")

    pair = limited(observations=[(np.float32([1]),)] * 3, space=Tuple([box]))
    observation = TimeAwareObservation(pair, flatten=False).reset()[0]
    assert len(observation) == 2
    assert observation[1].dtype == np.int32


def test_limit_from_the_spec() -> None:
    inner = ScriptEnv()
    inner.spec = EnvSpec("Script-v0", max_episode_steps=77)
    assert TimeAwareObservation(inner).max_timesteps == 77


def test_no_limit() -> None:
    with pytest.raises(ValueError, match="TimeLimit"):
        TimeAwareObservation(OrderEnforcing(ScriptEnv()))
