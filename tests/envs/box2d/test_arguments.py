"""Wrong arguments, wrong actions, and a missing engine."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ludus.errors import DependencyNotInstalled, InvalidAction, ResetNeeded
from tests.envs.box2d.support import BY_ID, make


@pytest.mark.parametrize("gravity", [0.0, 3, -12.0, float("nan")])
def test_gravity_out_of_range(gravity):
    with pytest.raises(ValueError, match="gravity"):
        make("LunarLander-v3", gravity=gravity)


@pytest.mark.parametrize("kwargs", [{"wind_power": 20.5}, {"turbulence_power": -1.0}])
def test_strong_wind_is_advised_against(kwargs):
    with pytest.warns(UserWarning, match=f"{next(iter(kwargs))} value is recommended"):
        make("LunarLander-v3", **kwargs)


@pytest.mark.parametrize(
    ("env_id", "action"),
    [
        ("LunarLander-v3", 4),
        ("LunarLander-v3", 1.5),
        ("LunarLanderContinuous-v3", 1),
        ("LunarLanderContinuous-v3", [0.5]),
        ("BipedalWalker-v3", np.zeros(3)),
        ("BipedalWalker-v3", None),
        ("CarRacing-v3", 2),
        ("CarRacing-v3", [0.1, 0.2]),
        # NaN spreads through a world, and an engine in which nothing lies anywhere crashes.
        ("LunarLanderContinuous-v3", np.array([np.nan, 0.0])),
        ("BipedalWalker-v3", np.array([0, 0, 0, np.nan], np.float32)),
        ("CarRacing-v3", [0.0, float("nan"), 0.0]),
    ],
)
def test_wrong_actions(env_id, action):
    env = make(env_id).unwrapped
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"invalid.*; expected"):
        env.step(action)


@pytest.mark.parametrize("env_id", BY_ID)
def test_step_before_reset(env_id):
    env = make(env_id).unwrapped
    with pytest.raises(ResetNeeded, match="forgot to call reset"):
        env.step(env.action_space.sample())


@pytest.mark.parametrize("env_id", BY_ID)
def test_missing_engine(env_id, monkeypatch):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(DependencyNotInstalled, match=r"pip install 'ludus-gym\[box2d\]'"):
        make(env_id)


@pytest.mark.parametrize("env_id", BY_ID)
def test_pictures(env_id):
    env = make(env_id, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    assert before.shape == (400, 600, 3)
    assert before.dtype == np.uint8
    for _ in range(20):
        env.step(env.action_space.sample())
    assert not np.array_equal(env.render(), before)
    env.close()
