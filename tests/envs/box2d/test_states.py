"""A saved state is an episode that can be run again."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from ludus.errors import ResetNeeded, StateError
from tests.envs.box2d.support import BY_ID, make
from tests.reference.twins import assert_same

CASES = [*((env_id, {}) for env_id in BY_ID), ("LunarLander-v2", {"enable_wind": True})]


def play(env, steps):
    return [env.step(env.action_space.sample()) for _ in range(steps)]


@pytest.mark.parametrize("way", ["state", "pickle", "copy"])
@pytest.mark.parametrize(("env_id", "kwargs"), CASES)
def test_what_follows_a_saved_state_follows_it_again(env_id, kwargs, way):
    env = make(env_id, **kwargs).unwrapped
    before, after = (4, 4) if env_id.startswith("CarRacing") else (25, 30)
    env.reset(seed=3)
    env.action_space.seed(3)
    play(env, 2)
    env.reset()
    play(env, before)
    if way == "state":
        other = make(env_id, **kwargs).unwrapped
        other.set_state(env.get_state())
    else:
        other = pickle.loads(pickle.dumps(env)) if way == "pickle" else copy.deepcopy(env)
    env.action_space.seed(4)
    other.action_space.seed(4)
    assert_same(play(other, after), play(env, after))
    assert_same(other.reset(), env.reset())
    assert_same(play(other, 2), play(env, 2))


def test_a_state_before_the_first_reset():
    env, other = make("LunarLander-v3").unwrapped, make("LunarLander-v3").unwrapped
    before = env.get_state()
    other.reset(seed=1)
    other.set_state(before)
    assert other.get_state() == before


def test_foreign_draws_are_noticed():
    env = make("LunarLander-v3").unwrapped
    env.reset(seed=1)
    env.step(2)
    env.np_random.random()
    env.step(2)
    with pytest.raises(StateError, match="drawn from or replaced"):
        make("LunarLander-v3").unwrapped.set_state(env.get_state())


@pytest.mark.parametrize("color", [None, [1, 2], np.zeros(2), np.full(3, np.nan)])
def test_a_race_with_damaged_colors_is_refused_and_the_next_one_has_the_old_ones(color):
    env = make("CarRacing-v3").unwrapped
    first, _ = env.reset(seed=1)
    state = env.get_state()
    state["fields"]["start"]["carried"]["bg_color"] = color
    with pytest.raises(StateError, match="damaged"):
        env.set_state(state)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(3))
    np.testing.assert_array_equal(env.reset(seed=1)[0], first)


def test_wind_of_the_second_version_blows_on():
    env = make("LunarLander-v2", enable_wind=True).unwrapped
    env.reset(seed=1)
    first = env.wind_idx
    play(env, 3)
    env.reset()
    assert env.wind_idx == first + 4
    env.reset(seed=1)
    assert env.wind_idx == first


def test_a_picture_changes_no_episode():
    seen = []
    for mode in (None, "rgb_array"):
        env = make("LunarLander-v3", render_mode=mode)
        env.reset(seed=2)
        env.action_space.seed(2)
        steps = []
        for _ in range(40):
            steps.append(env.step(env.action_space.sample()))
            if mode:
                assert np.ptp(env.render()) > 0
        seen.append(steps)
    assert_same(*seen)


def test_a_lap_of_the_second_version_is_cut_off():
    env = make("CarRacing-v2").unwrapped
    env.reset(seed=0)
    env._race.new_lap = True
    assert env.step(np.zeros(3, np.float32))[2:] == (False, True, {})


def test_states_keep_random_colours():
    env = make("CarRacing-v3", domain_randomize=True).unwrapped
    env.reset(seed=0)
    env.reset(options={"randomize": False})
    other = make("CarRacing-v3", domain_randomize=True).unwrapped
    other.set_state(env.get_state())
    idle = np.zeros(3, np.float32)
    assert_same(other.step(idle), env.step(idle))
