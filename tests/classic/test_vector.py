from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ludus
import ludus.classic as gym
from ludus.classic import error, spaces
from ludus.classic.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnvWrapper
from tests.classic.old_envs import Counter

BOTH = pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])


def build(kind: Any, lengths: tuple[int, ...] = (2, 3, 4), **kwargs: Any) -> Any:
    return kind([functools.partial(Counter, length) for length in lengths], **kwargs)


@pytest.fixture
def vector(kind: Any) -> Iterator[Any]:
    env = build(kind)
    yield env
    env.close()


@BOTH
def test_spaces(vector: Any) -> None:
    assert vector.num_envs == 3
    assert vector.is_vector_env
    assert vector.single_observation_space == spaces.Box(0.0, 100.0, (2,), np.float32)
    assert vector.observation_space.shape == (3, 2)
    assert vector.action_space == spaces.Tuple((spaces.Discrete(3),) * 3)
    assert len(vector.action_space.sample()) == 3
    assert str(vector) in ("SyncVectorEnv(3)", "AsyncVectorEnv(3)")


@BOTH
def test_steps_rewards_and_infos(vector: Any, kind: Any) -> None:
    assert vector.reset()[:, 0].tolist() == [0, 0, 0]
    observations, rewards, dones, infos = vector.step((0, 1, 2))
    assert observations[:, 0].tolist() == [1, 1, 1]
    assert (rewards.dtype, rewards.tolist()) == (np.float64, [0, 1, 2])
    assert (dones.dtype, dones.tolist()) == (np.bool_, [False] * 3)
    assert type(infos) is (list if kind is SyncVectorEnv else tuple)
    assert list(infos) == [{"count": 1}] * 3


@BOTH
def test_a_finished_environment_is_reset_in_the_same_step(vector: Any) -> None:
    vector.reset()
    vector.step(np.array([0, 0, 0]))
    observations, _, dones, infos = vector.step([0, 0, 0])
    assert dones.tolist() == [True, False, False]
    assert observations[:, 0].tolist() == [0, 2, 2]
    assert infos[0]["count"] == 2
    assert infos[0]["terminal_observation"][0] == 2
    assert infos[1] == {"count": 2}


@BOTH
def test_seeds(vector: Any) -> None:
    assert vector.seed(0) is None
    seeded = vector.reset()[:, 1]
    expected = [gym.utils.seeding.np_random(seed)[0].rand() for seed in (0, 1, 2)]
    np.testing.assert_allclose(seeded, expected, rtol=1e-6)
    assert (vector.reset()[:, 1] != seeded).all()
    vector.seed([2, 1, 0])
    np.testing.assert_allclose(vector.reset()[:, 1], expected[::-1], rtol=1e-6)
    with pytest.raises(ValueError, match="one seed for each"):
        vector.seed([1, 2])
    vector.seed(None)


@BOTH
def test_asynchronous_calls(vector: Any) -> None:
    vector.reset_async()
    assert vector.reset_wait().shape == (3, 2)
    vector.step_async((1, 1, 1))
    with pytest.raises(error.AlreadyPendingCallError) as caught:
        vector.step_async((1, 1, 1))
    assert caught.value.name == "step"
    assert vector.step_wait()[1].tolist() == [1, 1, 1]
    with pytest.raises(error.NoAsyncCallError):
        vector.step_wait()


@BOTH
def test_close(kind: Any) -> None:
    env = build(kind)
    env.reset()
    env.close()
    env.close()
    assert env.closed
    with pytest.raises(error.ClosedEnvironmentError):
        env.reset()
    with pytest.raises(error.ClosedEnvironmentError):
        env.seed(0)


@BOTH
def test_observation_spaces_must_agree(kind: Any) -> None:
    def other() -> Any:
        env = Counter()
        env.observation_space = spaces.Box(0.0, 1.0, (2,), np.float32)
        return env

    with pytest.raises(RuntimeError, match="observation space"):
        kind([Counter, other])


def test_the_observation_space_can_be_given() -> None:
    wide = spaces.Box(-5.0, 200.0, (2,), np.float32)
    env = SyncVectorEnv([Counter], observation_space=wide)
    assert env.single_observation_space == wide
    assert env.envs[0].length == 5


class Sleeper(Counter):
    def step(self, action: Any) -> Any:
        if action == 2:
            multiprocessing.Event().wait(30)
        return super().step(action)


def test_waiting_has_a_limit() -> None:
    env = AsyncVectorEnv([Sleeper])
    env.reset()
    env.step_async((2,))
    with pytest.raises(multiprocessing.TimeoutError):
        env.step_wait(timeout=0.05)
    env.close(terminate=True)


class Failing(Counter):
    def step(self, action: Any) -> Any:
        raise ValueError("the wheel came off")


@BOTH
def test_an_error_inside_reaches_the_caller(kind: Any) -> None:
    env = kind([Counter, Failing])
    env.reset()
    with pytest.raises(ValueError, match="wheel came off"):
        env.step((0, 0))
    env.close()


def test_worker_functions_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="worker"):
        AsyncVectorEnv([Counter], worker=print)


def test_make_matches_single_environments() -> None:
    envs = gym.vector.make("CartPole-v1", 2, asynchronous=False)
    singles = [gym.make("CartPole-v1") for _ in range(2)]
    envs.seed(3)
    observations = envs.reset()
    for index, env in enumerate(singles):
        env.seed(3 + index)
        np.testing.assert_array_equal(observations[index], env.reset())
    ended = [False, False]
    for step in range(60):
        actions = (step % 2, 1)
        observations, rewards, dones, infos = envs.step(actions)
        for index, env in enumerate(singles):
            observation, reward, done, info = env.step(actions[index])
            assert (rewards[index], dones[index]) == (reward, done)
            if done:
                last = infos[index].pop("terminal_observation")
                np.testing.assert_array_equal(last, observation)
                observation = env.reset()
                ended[index] = True
            np.testing.assert_array_equal(observations[index], observation)
            assert infos[index] == info
    assert all(ended)


def test_make_applies_wrappers_and_arguments() -> None:
    wrapper = functools.partial(gym.wrappers.TransformReward, f=lambda r: 7 * r)
    for given in (wrapper, [wrapper]):
        envs = gym.vector.make("CartPole-v1", 1, False, given, sutton_barto_reward=False)
        envs.reset()
        assert envs.step((0,))[1] == [7.0]
    with pytest.raises(ValueError, match="num_envs"):
        gym.vector.make("CartPole-v1", 0)
    with pytest.raises(error.UnregisteredEnv):
        gym.vector.make("NoSuch-v0", asynchronous=False)


def test_make_is_asynchronous_unless_told_otherwise() -> None:
    envs = gym.vector.make("CartPole-v1", 2)
    assert isinstance(envs, AsyncVectorEnv)
    envs.close()


def test_vector_wrapper() -> None:
    class Halved(VectorEnvWrapper):
        def step(self, actions: Any) -> Any:
            observations, rewards, dones, infos = self.env.step(actions)
            return observations, rewards / 2, dones, infos

    envs = Halved(build(SyncVectorEnv))
    envs.reset()
    assert envs.step((0, 1, 2))[1].tolist() == [0, 0.5, 1]
    assert envs.num_envs == 3
    envs.close()
    with pytest.raises(TypeError, match="VectorEnv"):
        VectorEnvWrapper(Counter())  # type: ignore[arg-type]


def test_the_engine_is_ludus() -> None:
    assert isinstance(build(SyncVectorEnv)._engine, ludus.vector.SyncVectorEnv)
