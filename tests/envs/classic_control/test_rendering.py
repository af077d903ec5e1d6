"""Pictures: right sizes, and what is drawn follows the state."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import ludus

STATES = {
    "MountainCar-v0": ([-0.9, 0.0], [0.3, 0.0]),
    "MountainCarContinuous-v0": ([-0.9, 0.0], [0.3, 0.0]),
    "Pendulum-v1": ([0.5, 0.0], [-0.5, 0.0]),
    "Acrobot-v1": ([0.5, 0.5, 0.0, 0.0], [0.5, -0.5, 0.0, 0.0]),
}


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.parametrize("env_id", STATES)
def test_pictures(env_id):
    env = ludus.make(env_id, render_mode="rgb_array").unwrapped
    assert env.render() is None
    env.reset(seed=0)
    frames = []
    for state in STATES[env_id]:
        env.state = state
        frames.append(env.render())
    env.close()
    with gymnasium.make(env_id, render_mode="rgb_array") as theirs:
        theirs.reset(seed=0)
        expected = theirs.render()
    for frame in frames:
        assert frame.shape == expected.shape
        assert frame.dtype == np.uint8
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) >= 4
    assert (frames[0] != frames[1]).any()


@pytest.mark.parametrize("env_id", ["MountainCar-v0", "MountainCarContinuous-v0"])
def test_the_car_is_where_the_state_says(env_id):
    env = ludus.make(env_id, render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    centers = []
    for position in (-1.0, -0.5, 0.2):
        env.state = [position, 0.0]
        red = (env.render() == (204, 92, 77)).all(axis=2)
        centers.append(np.nonzero(red)[1].mean())
    expected = [(position + 1.2) / 1.8 * 600 for position in (-1.0, -0.5, 0.2)]
    np.testing.assert_allclose(centers, expected, atol=15)


def test_the_acrobats_tip_is_where_the_state_says():
    env = ludus.make("Acrobot-v1", render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    scale = 500 / 4.4
    for first, second in ((0.0, 0.0), (np.pi / 2, 0.0), (np.pi / 2, np.pi / 2), (0.0, -np.pi / 2)):
        env.state = [first, second, 0.0, 0.0]
        rows, columns = np.nonzero((env.render() == (204, 92, 77)).all(axis=2))
        x = 250 + scale * (np.sin(first) + np.sin(first + second))
        y = 250 + scale * (np.cos(first) + np.cos(first + second))
        np.testing.assert_allclose([columns.mean(), rows.mean()], [x, y], atol=2)


@pytest.mark.parametrize("env_id", STATES)
def test_windows_and_missing_modes(env_id):
    with ludus.make(env_id, render_mode="human") as env:
        env.reset(seed=0)
        assert env.step(env.action_space.sample())
        assert env.render() is None
    with ludus.make(env_id) as env:
        env.reset(seed=0)
        with pytest.warns(UserWarning, match="without specifying any render mode"):
            assert env.render() is None


@pytest.mark.parametrize("env_id", ["CartPole-v1", "MinAtar/Breakout-v1"])
def test_copies_draw_for_themselves(env_id):
    env = ludus.make(env_id, render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    frame = env.render()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        np.testing.assert_array_equal(twin.render(), frame)
        for _ in range(5):
            twin.step(0)
        assert (twin.render() != frame).any()
        twin.close()
    np.testing.assert_array_equal(env.render(), frame)
