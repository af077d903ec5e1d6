"""CartPole and Pendulum beside Gymnasium's: same seeds and actions, same numbers."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.errors import InvalidAction, ResetNeeded

IDS = ["CartPole-v0", "CartPole-v1", "Pendulum-v1"]


@pytest.mark.filterwarnings("ignore:.*out of date")
@pytest.mark.parametrize("env_id", IDS)
def test_trajectories_equal_gymnasiums(env_id):
    ours, theirs = ludus.make(env_id), gymnasium.make(env_id)
    assert repr(ours.action_space) == repr(theirs.action_space)
    np.testing.assert_array_equal(ours.observation_space.high, theirs.observation_space.high)
    theirs.action_space.seed(1)
    for seed in range(20):
        a, b = ours.reset(seed=seed), theirs.reset(seed=seed)
        np.testing.assert_array_equal(a[0], b[0])
        assert a[1] == b[1]
        for _ in range(300):
            action = theirs.action_space.sample()
            a, b = ours.step(action), theirs.step(action)
            assert a[0].dtype == b[0].dtype
            np.testing.assert_allclose(a[0], b[0], rtol=1e-6, atol=1e-6)
            assert a[1] == pytest.approx(float(b[1]), abs=1e-6)
            assert a[2:] == b[2:]
            if a[2] or a[3]:
                break


def test_reset_options():
    env = ludus.make("CartPole-v1")
    observation, _ = env.reset(seed=0, options={"low": 0.1, "high": 0.2})
    assert (observation >= 0.1).all()
    with pytest.raises(ValueError, match="must be lower"):
        env.reset(options={"low": 1, "high": 0})
    with pytest.raises(ValueError, match="could not be converted"):
        env.reset(options={"low": "left"})
    pendulum = ludus.make("Pendulum-v1")
    observation, _ = pendulum.reset(seed=0, options={"x_init": 0.0, "y_init": 0.0})
    np.testing.assert_array_equal(observation, [1.0, 0.0, 0.0])


def test_sutton_barto_reward():
    env = ludus.make("CartPole-v1", sutton_barto_reward=True)
    env.reset(seed=0)
    rewards, over = [], False
    while not over:
        _, reward, over, _, _ = env.step(1)
        rewards.append(reward)
    assert rewards == [0.0] * (len(rewards) - 1) + [-1.0]


def test_steps_beyond_the_end_warn_once():
    env = ludus.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    while not env.step(1)[2]:
        pass
    with pytest.warns(UserWarning, match="already returned terminated"):
        assert env.step(1)[1] == 0.0
    assert env.step(1)[1] == 0.0


@pytest.mark.parametrize("sutton_barto", [False, True])
def test_rewards_from_a_state_beyond_the_limits(sutton_barto):
    gymnasium = pytest.importorskip("gymnasium")
    rewards = []
    for library in (ludus, gymnasium):
        env = library.make("CartPole-v1", sutton_barto_reward=sutton_barto).unwrapped
        env.reset(seed=0)
        env.state = (3.0, 0.0, 0.0, 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rewards.append([env.step(k % 2)[1] for k in range(4)])
    assert rewards[0] == rewards[1]


def test_bad_actions_and_order():
    env = ludus.make("CartPole-v1").unwrapped
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    for action in (2, -1, 0.5, "left", None):
        with pytest.raises(InvalidAction, match="expected an integer from 0 to 1"):
            env.step(action)
    with pytest.raises(ResetNeeded):
        ludus.make("Pendulum-v1").unwrapped.step(np.zeros(1))


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_rendering(env_id, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with ludus.make(env_id, render_mode="rgb_array") as env:
        env.reset(seed=0)
        first = env.render()
        for _ in range(5):
            env.step(env.action_space.sample())
        second = env.render()
    assert first.dtype == np.uint8
    assert first.shape == second.shape
    assert (first != second).any()
    assert len(np.unique(first.reshape(-1, 3), axis=0)) >= 3
    with ludus.make(env_id, render_mode="human") as env:
        env.reset(seed=0)
        assert env.render() is None
    with ludus.make(env_id) as env:
        env.reset(seed=0)
        with pytest.warns(UserWarning, match="without specifying any render mode"):
            assert env.render() is None


def test_state_attribute_can_be_set():
    env = ludus.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    env.state = [0.0, 1.0, 0.0, 0.0]
    assert env.step(0)[0][0] == pytest.approx(0.02)
    assert len(env.state) == 4
