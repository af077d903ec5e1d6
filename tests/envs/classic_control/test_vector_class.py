"""CartPoleVectorEnv beside Gymnasium's: one stream for all environments, the same numbers."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv as Theirs

import ludus
from ludus.envs.classic_control import CartPoleVectorEnv as Ours
from ludus.envs.classic_control import cartpole
from ludus.errors import InvalidAction, ResetNeeded


def run(ours, theirs, steps):
    theirs.action_space.seed(1)
    ends = np.zeros(2, int)
    for _ in range(steps):
        actions = theirs.action_space.sample()
        a, b = ours.step(actions), theirs.step(actions)
        np.testing.assert_array_max_ulp(np.ascontiguousarray(a[0]), np.ascontiguousarray(b[0]), 4)
        for left, right in zip(a[1:4], b[1:4], strict=True):
            np.testing.assert_array_equal(left, right)
            assert left.dtype == right.dtype
        assert a[4] == b[4]
        ends += a[2].sum(), a[3].sum()
    return ends


def test_it_is_where_gymnasium_has_it():
    assert cartpole.CartPoleVectorEnv is Ours
    names = list(inspect.signature(Theirs).parameters)
    assert list(inspect.signature(Ours).parameters) == names
    with pytest.raises(AttributeError, match="no attribute 'CartPoleJax'"):
        cartpole.CartPoleJax  # noqa: B018


@pytest.mark.parametrize("sutton_barto_reward", [False, True])
@pytest.mark.parametrize("num_envs", [1, 7])
def test_seeds_give_gymnasiums_batches(num_envs, sutton_barto_reward):
    arguments = {
        "num_envs": num_envs,
        "max_episode_steps": 40,
        "sutton_barto_reward": sutton_barto_reward,
    }
    ours, theirs = Ours(**arguments), Theirs(**arguments)
    assert repr(ours.metadata) == repr(theirs.metadata)
    for name in ("observation_space", "action_space", "single_observation_space"):
        assert repr(getattr(ours, name)) == repr(getattr(theirs, name))
    for seed in (3, None):
        a, b = ours.reset(seed=seed), theirs.reset(seed=seed)
        np.testing.assert_array_equal(a[0], b[0])
        assert a[1] == b[1] == {}
        assert (run(ours, theirs, 400) > 0).all()
    assert ours.np_random_seed == theirs.np_random_seed == 3
    assert ours.np_random.bit_generator.state == theirs.np_random.bit_generator.state
    np.testing.assert_allclose(ours.state, theirs.state, rtol=1e-12)


def test_bounds_hold_until_the_next_reset():
    ours, theirs = Ours(5), Theirs(5)
    options = {"low": -0.2, "high": -0.1}
    np.testing.assert_array_equal(
        ours.reset(seed=0, options=options)[0], theirs.reset(seed=0, options=options)[0]
    )
    run(ours, theirs, 100)
    np.testing.assert_array_equal(ours.reset()[0], theirs.reset()[0])
    run(ours, theirs, 100)
    with pytest.raises(ValueError, match="must be lower"):
        ours.reset(options={"low": 1, "high": 0})


def test_make_vec_gives_each_environment_its_own_stream():
    own = ludus.make_vec("CartPole-v1", 4).reset(seed=9)[0]
    single = [ludus.make("CartPole-v1").reset(seed=9 + i)[0] for i in range(4)]
    np.testing.assert_array_equal(own, single)
    assert (own != Ours(4).reset(seed=9)[0]).any()


def test_states_are_saved_and_set():
    envs = Ours(3, max_episode_steps=10)
    assert envs.state is None
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros(3, int))
    envs.reset(seed=0)
    envs.state = np.full((4, 3), 0.01)
    np.testing.assert_array_equal(envs.state, np.full((4, 3), 0.01))
    saved = envs.get_state()
    ahead = [envs.step(np.ones(3, int)) for _ in range(30)]
    other = Ours(3, max_episode_steps=10)
    other.reset(seed=5)
    other.set_state(saved)
    for expected in ahead:
        for left, right in zip(other.step(np.ones(3, int)), expected, strict=True):
            np.testing.assert_equal(left, right)


def test_what_is_refused():
    envs = Ours(2)
    envs.reset(seed=0)
    with pytest.raises(InvalidAction):
        envs.step(np.array([0, 2]))
    with pytest.raises(NotImplementedError, match="make_vec"):
        envs.rollout([np.zeros(2, int)])


def test_pictures(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with Ours(2, render_mode="rgb_array") as envs:
        envs.reset(seed=0)
        frames = envs.render()
    assert [frame.shape for frame in frames] == [(400, 600, 3)] * 2
