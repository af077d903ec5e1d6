"""NaN and infinite actions are refused in the same way by every environment with float actions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ludus
from ludus.errors import InvalidAction
from tests.reference.twins import assert_same

BAD = (math.nan, math.inf, -math.inf)
REFUSAL = r"which is invalid: NaN and infinite numbers are refused; expected finite numbers\."
IDS = [spec.id for spec in ludus.registry.values() if "continuous-action" in spec.tags]
GAMES = {"ALE/Pong-v5": {"continuous": True}}
KERNELS = ("Pendulum-v1", "MountainCarContinuous-v0", "phys2d/Pendulum-v0")

pytestmark = pytest.mark.filterwarnings("ignore")


def make(env_id):
    try:
        return ludus.make(env_id, **GAMES.get(env_id, {}))
    except ImportError as problem:
        pytest.skip(str(problem))


def fine(space):
    return np.zeros(space.shape, space.dtype)


def spoiled(space, bad, at=-1):
    action = fine(space)
    action.reshape(-1)[at] = bad
    return action


@pytest.mark.parametrize("env_id", [*IDS, *GAMES])
def test_one_environment(env_id):
    with make(env_id) as env:
        env.reset(seed=3)
        env.step(fine(env.action_space))
        before = env.get_state()
        for bad in BAD:
            for at in (0, -1):
                with pytest.raises(InvalidAction, match=REFUSAL):
                    env.step(spoiled(env.action_space, bad, at))
        assert_same(env.get_state(), before)
        env.step(fine(env.action_space))


@pytest.mark.parametrize("env_id", KERNELS)
@pytest.mark.parametrize("kind", [list, tuple, np.float64, np.float16])
def test_other_kinds_of_arrays(env_id, kind):
    env = ludus.make(env_id)
    env.reset(seed=3)
    for bad in BAD:
        action = kind([bad]) if kind in (list, tuple) else np.array([bad], kind)
        with pytest.raises(InvalidAction, match=REFUSAL):
            env.step(action)


def test_the_largest_numbers_are_finite():
    for env_id in ("Hopper-v5", "Pendulum-v1", "LunarLanderContinuous-v3"):
        env = make(env_id)
        env.reset(seed=3)
        observation, *_ = env.step(np.full(env.action_space.shape, np.finfo(np.float64).max))
        assert np.shape(observation) == env.observation_space.shape


@pytest.mark.parametrize("env_id", [*IDS, *GAMES])
def test_batches(env_id):
    make(env_id).close()
    with ludus.make_vec(env_id, 3, **GAMES.get(env_id, {})) as envs:
        envs.reset(seed=3)
        envs.step(fine(envs.action_space))
        for bad in BAD:
            actions = fine(envs.action_space)
            actions[1].reshape(-1)[-1] = bad
            with pytest.raises(InvalidAction, match=REFUSAL) as caught:
                envs.step(actions)
            if env_id not in GAMES:
                assert "environment 1" in str(caught.value) or "CarRacing" in env_id
        envs.step(fine(envs.action_space))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_batches_of_single_environments(mode):
    with ludus.make_vec("Pendulum-v1", 2, vectorization_mode=mode) as envs:
        envs.reset(seed=3)
        with pytest.raises(InvalidAction, match=REFUSAL):
            envs.step(np.array([[0.0], [math.nan]], np.float32))


@pytest.mark.parametrize("env_id", KERNELS)
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_batches_and_rollouts(env_id, threads):
    with ludus.make_vec(env_id, 4) as envs:
        batch = type(envs.unwrapped.env).vector(4, num_threads=threads)
    with batch:
        batch.reset(seed=3)
        before = batch.get_state()
        for bad in BAD:
            actions = np.zeros((5, 4, 1))
            actions[3, 2] = bad
            with pytest.raises(InvalidAction, match=REFUSAL) as caught:
                batch.rollout(actions)
            assert "environment 2 in step 3" in str(caught.value)
            with pytest.raises(InvalidAction, match=REFUSAL):
                batch.step(actions[3])
        assert_same(batch.get_state(), before)


def not_a_number(weights, observation, rng):
    return (observation[0] - observation[0] + weights[0],)


def test_policies():
    with ludus.make_vec("Pendulum-v1", 4) as envs:
        envs.reset(seed=3)
        envs.unwrapped.rollout(policy=not_a_number, weights=(1.0,), steps=3)
        with pytest.raises(InvalidAction, match=REFUSAL):
            envs.unwrapped.rollout(policy=not_a_number, weights=(math.nan,), steps=3)
