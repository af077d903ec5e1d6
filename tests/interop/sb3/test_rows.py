"""Attributes and methods of single environments, through ``LudusVecEnv``."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.errors import Error

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from ludus.interop.sb3 import make_vec_env

SYNC = {"vectorization_mode": "sync"}


@pytest.fixture
def cartpoles():
    env = make_vec_env("CartPole-v1", 4, seed=3)
    env.reset()
    yield env
    env.close()


@pytest.fixture
def separate():
    env = make_vec_env("CartPole-v1", 4, seed=3, vec_env_kwargs=SYNC)
    env.reset()
    yield env
    env.close()


def test_attributes_belong_to_the_row(cartpoles):
    single = make_vec_env("CartPole-v1", 4, seed=3, vec_env_cls=DummyVecEnv)
    single.reset()
    for _ in range(5):
        for env in (cartpoles, single):
            env.step(np.array([0, 1, 1, 0]))
    ours, theirs = cartpoles.get_attr("state"), single.get_attr("state")
    np.testing.assert_array_equal(np.array(ours), np.array(theirs))
    assert cartpoles.get_attr("gravity", 2) == [9.8]
    assert cartpoles.get_attr("render_mode", [1, 3]) == ["rgb_array"] * 2
    np.testing.assert_array_equal(cartpoles.get_attr("state", -1)[0], ours[3])


def test_attributes_that_are_missing(cartpoles, separate):
    for env in (cartpoles, separate):
        assert not env.has_attr("no_such_thing")
        with pytest.raises(AttributeError):
            env.get_attr("no_such_thing")
        with pytest.raises(AttributeError):
            env.env_method("no_such_thing")
        with pytest.raises(IndexError):
            env.get_attr("gravity", 4)


def test_the_spec_is_the_batchs(cartpoles):
    assert [spec.id for spec in cartpoles.get_attr("spec")] == ["CartPole-v1"] * 4


def test_attributes_are_set_where_environments_are_separate(separate):
    separate.set_attr("gravity", 1.5, indices=[0, 2])
    assert separate.get_attr("gravity") == [1.5, 9.8, 1.5, 9.8]
    separate.set_attr("note", "mine")
    assert separate.get_attr("note") == ["mine"] * 4


def test_attributes_of_a_compiled_batch_are_set_for_all(cartpoles):
    cartpoles.set_attr("gravity", 1.5)
    assert cartpoles.get_attr("gravity") == [1.5] * 4
    with pytest.raises(ValueError, match=r"(?s)share.*sync"):
        cartpoles.set_attr("gravity", 3.0, indices=[1])
    assert cartpoles.get_attr("gravity") == [1.5] * 4


def test_methods_change_the_rows_that_they_are_called_on(cartpoles):
    before = np.array(cartpoles.get_attr("state"))
    cartpoles.env_method("reset", seed=7, indices=[2])
    after = np.array(cartpoles.get_attr("state"))
    np.testing.assert_array_equal(before[[0, 1, 3]], after[[0, 1, 3]])
    single = ludus.make("CartPole-v1").unwrapped
    single.reset(seed=7)
    np.testing.assert_array_equal(after[2], single.state)


@pytest.mark.parametrize("name", ["reset", "step", "set_state", "close"])
def test_an_engines_batch_is_not_changed_row_by_row(name):
    env = make_vec_env("Hopper-v5", 2)
    env.reset()
    with pytest.raises(Error, match=rf"(?s){name}.*only be changed together"):
        env.env_method(name)
    with pytest.raises(Error, match="has no effect"):
        env.set_attr("gravity", 1.5)
    env.close()


def test_methods_are_called_on_each(separate, cartpoles):
    saved = separate.env_method("get_state", indices=[1, 3])
    assert len(saved) == 2
    separate.env_method("set_state", saved[0], indices=3)
    states = [tuple(state) for state in separate.get_attr("state")]
    assert states[1] == states[3] != states[2]
    frames = cartpoles.env_method("render", indices=[0, 3])
    assert [frame.shape for frame in frames] == [(400, 600, 3)] * 2


def test_frames_are_those_of_single_environments(cartpoles):
    single = make_vec_env("CartPole-v1", 4, seed=3, vec_env_cls=DummyVecEnv)
    single.reset()
    for _ in range(5):
        for env in (cartpoles, single):
            env.step(np.array([0, 1, 1, 0]))
    np.testing.assert_array_equal(cartpoles.render(), single.render())
    assert cartpoles.render("rgb_array").shape == (800, 1200, 3)


def test_without_a_render_mode_there_are_no_frames():
    env = make_vec_env("CartPole-v1", 2, env_kwargs={"render_mode": None})
    assert env.get_images() == [None, None]
    with pytest.warns(UserWarning, match="render"):
        assert env.render() is None


def test_a_default_to_draw_does_not_cost_the_engines_batch():
    fast = make_vec_env("LunarLander-v3", 2)
    drawn = make_vec_env("LunarLander-v3", 2, env_kwargs={"render_mode": "rgb_array"})
    assert (type(fast.env).__name__, fast.render_mode) == ("Box2DVectorEnv", None)
    drawn.reset()
    assert drawn.get_images()[1].shape == (400, 600, 3)


def test_wrappers_that_the_batch_stands_for(cartpoles, separate):
    for env in (cartpoles, separate):
        assert env.env_is_wrapped(Monitor) == [True] * 4
        assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit, [0, 1]) == [True] * 2
        assert env.env_is_wrapped(gymnasium.wrappers.ClipAction, 0) == [False]
    assert separate.env_is_wrapped(ludus.wrappers.OrderEnforcing) == [True] * 4


def test_vec_monitor_warns_as_it_does_of_a_monitor(cartpoles):
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        VecMonitor(cartpoles)


def test_closing_twice_and_stepping_after(cartpoles):
    cartpoles.close()
    cartpoles.close()
    with pytest.raises(Exception, match="close"):
        cartpoles.step(np.zeros(4, np.int64))
