"""The wrappers that pass observations, actions or rewards through a function."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from ludus.errors import InvalidBound
from ludus.spaces import Box, Discrete
from ludus.wrappers import (
    ClipAction,
    ClipReward,
    RescaleAction,
    RescaleObservation,
    TransformAction,
    TransformObservation,
    TransformReward,
)
from tests.wrappers.script_env import ScriptEnv

PAIR = Box(np.float32([-1, 0]), np.float32([1, 10]))


def taken(wrapper: type[Any], action: Any, **arguments: Any) -> Any:
    inner = ScriptEnv(action_space=PAIR)
    env = wrapper(inner, **arguments)
    env.reset()
    env.step(action)
    return inner.actions[0]


def test_transform_observation() -> None:
    env = TransformObservation(ScriptEnv(), lambda x: 2 * x + 1, Box(0, 99, (1,)))
    assert env.observation_space == Box(0, 99, (1,))
    assert env.reset()[0] == 1
    assert env.step(0)[0] == 3
    same = TransformObservation(ScriptEnv(), abs)
    assert same.observation_space == ScriptEnv().observation_space


def test_transform_action() -> None:
    inner = ScriptEnv()
    env = TransformAction(inner, lambda a: a + 10, Discrete(2))
    assert env.action_space == Discrete(2)
    env.reset()
    env.step(1)
    assert inner.actions == [11]
    assert TransformAction(inner, int, None).action_space == inner.action_space


def test_transform_reward() -> None:
    env = TransformReward(ScriptEnv(rewards=[4, 5, 6, 7, 8]), lambda r: -r)
    env.reset()
    assert env.step(0)[1] == -4


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [((-1, 1), [-1, 0.5, 1]), ((None, 1), [-5, 0.5, 1]), ((-1, None), [-1, 0.5, 5])],
)
def test_clip_reward(bounds: Any, expected: list[float]) -> None:
    env = ClipReward(ScriptEnv(rewards=[-5, 0.5, 5, 0, 0]), *bounds)
    env.reset()
    assert [env.step(0)[1] for _ in range(3)] == expected


def test_bad_reward_bounds() -> None:
    for bounds in ((None, None), (1, 0)):
        with pytest.raises(InvalidBound, match=r"min_reward|Min reward"):
            ClipReward(ScriptEnv(), *bounds)


def test_clip_action() -> None:
    assert taken(ClipAction, np.float32([-9, 99])).tolist() == [-1, 10]
    space = ClipAction(ScriptEnv(action_space=PAIR)).action_space
    assert np.isinf(space.low).all()  # type: ignore[attr-defined]


def test_rescale_action() -> None:
    action = taken(RescaleAction, np.float32([0.5, 1]), min_action=0, max_action=np.float32([1, 2]))
    assert action.tolist() == [0, 5]
    assert action.dtype == np.float32


def test_rescale_observation() -> None:
    env = RescaleObservation(ScriptEnv(), 0, 1)
    assert env.reset()[0] == 0.5
    assert env.observation_space == Box(0, 1, (1,), np.float32)


@pytest.mark.parametrize(
    ("low", "high", "error"),
    [
        (1, 1, InvalidBound),
        (2, 1, ValueError),
        (-np.inf, 1, ValueError),
        (np.zeros(3), 1, ValueError),
        ([0], 1, TypeError),
        (True, 1, TypeError),
    ],
)
def test_bad_scale(low: Any, high: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        RescaleAction(ScriptEnv(action_space=PAIR), low, high)


@pytest.mark.parametrize(
    ("wrapper", "arguments"),
    [(ClipAction, ()), (RescaleAction, (0, 1)), (RescaleObservation, (0, 1))],
)
def test_only_boxes(wrapper: type[Any], arguments: Any) -> None:
    with pytest.raises(TypeError, match=f"{wrapper.__name__} needs a Box"):
        wrapper(ScriptEnv(space=Discrete(3)), *arguments)


def test_a_function_can_be_replaced() -> None:
    env = TransformObservation(ScriptEnv(), lambda x: x + 1)
    env.reset()
    env.func = lambda x: x + 100
    assert env.func(1) == 101
    assert env.observation(1) == 101
    assert env.step(0)[0] == 101


def test_a_subclass_may_override_the_method() -> None:
    class Doubled(TransformObservation[Any, Any, Any]):
        def observation(self, observation: Any) -> Any:
            return 2 * super().observation(observation)

    class Halved(TransformReward[Any, Any]):
        def reward(self, reward: Any) -> Any:
            return super().reward(reward) / 2

    class Opposite(TransformAction[Any, Any, Any]):
        def action(self, action: Any) -> Any:
            return 1 - super().action(action)

    inner = ScriptEnv(rewards=[8.0])
    env = Opposite(Halved(Doubled(inner, lambda x: x + 1), lambda r: r + 2), lambda a: a, None)
    assert env.reset()[0] == 2
    observation, reward, *_ = env.step(0)
    assert (observation, reward, inner.actions) == (4, 5.0, [1])


def test_a_subclass_may_have_a_method_of_that_name() -> None:
    class Named(TransformObservation[Any, Any, Any]):
        def __init__(self, env: Any) -> None:
            super().__init__(env, self.func)

        def func(self, observation: Any) -> Any:  # type: ignore[override]
            return observation + 7

    assert Named(ScriptEnv()).reset()[0] == 7


def test_copies_have_functions_of_their_own() -> None:
    env = RescaleObservation(ScriptEnv(space=PAIR), np.float32(0), np.float32(1))
    twins = (env, copy.deepcopy(env), pickle.loads(pickle.dumps(env)))
    given = np.float32([0, 5])
    for twin in twins:
        np.testing.assert_array_equal(twin.observation(given), np.float32([0.5, 0.5]))
    assert given.tolist() == [0, 5]
    assert len({id(twin.func.__self__) for twin in twins}) == 3  # type: ignore[attr-defined]
