"""The Box2D family beside Gymnasium's: same seeds and actions, same everything.

``LUDUS_TEST_ALL=1`` runs 20 seeds of 500 steps instead of a sample.
"""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from tests.envs.box2d.support import make
from tests.sampling import ALL

WIND = {"enable_wind": True}
CASES = [
    ("LunarLander-v3", {}),
    ("LunarLander-v3", {"gravity": -3.5}),
    ("LunarLander-v3", {**WIND, "wind_power": 19.0, "turbulence_power": 0.7}),
    ("LunarLanderContinuous-v3", {}),
    ("LunarLanderContinuous-v3", {**WIND, "gravity": -11.0}),
    ("BipedalWalker-v3", {}),
    ("BipedalWalkerHardcore-v3", {}),
    ("CarRacing-v3", {}),
    ("CarRacing-v3", {"continuous": False}),
    ("CarRacing-v3", {"domain_randomize": True}),
]
NAMES = [f"{env_id}-{'-'.join(kwargs)}" for env_id, kwargs in CASES]
SEEDS, STEPS = (20, 500) if ALL else (3, 200)
PIXEL_SEEDS, PIXEL_STEPS = (SEEDS, STEPS) if ALL else (1, 20)
BLOCK = 2
"""Seeds per test where pixels are compared, which takes several seconds for each."""


def trajectories():
    for (env_id, kwargs), name in zip(CASES, NAMES, strict=True):
        pixels = env_id.startswith("CarRacing")
        seeds, block = (PIXEL_SEEDS, BLOCK) if pixels else (SEEDS, SEEDS)
        for first in range(0, seeds, block):
            some = range(first, min(first + block, seeds))
            yield pytest.param(env_id, kwargs, some, id=f"{name}-{some.start}")


def assert_steps_equal(ours, theirs):
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert ours[0].dtype == theirs[0].dtype
    assert ours[1] == theirs[1]
    assert type(ours[1]) is type(theirs[1])
    assert ours[2:] == theirs[2:]
    assert type(ours[2]) is bool


def sensible(env_id, action, seen, number):
    """Make a random action such that episodes last: land, hardly move, drive on."""
    if env_id == "LunarLander-v3":
        x, y, vx, vy, angle, turn = seen[:6]
        lean = (0.5 * x + vx - angle) * 0.5 - turn
        lift = (0.55 * abs(x) - y) * 0.5 - vy * 0.5
        if seen[6] or seen[7]:
            lean, lift = 0.0, -vy * 0.5
        if lift > max(abs(lean), 0.05):
            return 2
        return 3 if lean < -0.05 else 1 if lean > 0.05 else 0
    if env_id.startswith("Bipedal"):
        return action * np.float32(0.15)
    if env_id.startswith("CarRacing") and isinstance(action, np.ndarray):
        return action * np.array([0.3, 1.0, number % 9 == 0], np.float32)
    return action


@pytest.mark.parametrize("random", [True, False], ids=["random", "sensible"])
@pytest.mark.parametrize(("env_id", "kwargs", "seeds"), trajectories())
def test_trajectories_equal(env_id, kwargs, seeds, random):
    ours = make(env_id, **kwargs)
    steps = PIXEL_STEPS if env_id.startswith("CarRacing") else STEPS
    for seed in seeds:
        # A new one each time: some of Gymnasium's carry traces of earlier episodes.
        theirs = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
        theirs.action_space.seed(seed)
        first, expected = ours.reset(seed=seed), theirs.reset(seed=seed)
        np.testing.assert_array_equal(first[0], expected[0])
        assert first[1] == expected[1]
        for number in range(steps):
            action = theirs.action_space.sample()
            if not random:
                action = sensible(env_id, action, expected[0], number)
            result, expected = ours.step(action), theirs.step(action)
            assert_steps_equal(result, expected)
            if expected[2] or expected[3]:
                break
        theirs.close()


def car_numbers(env):
    parts = [env.car.hull, *(getattr(wheel, "body", wheel) for wheel in env.car.wheels)]
    places = [(*p.position, p.angle, *p.linearVelocity, p.angularVelocity) for p in parts]
    wheels = [(w.gas, w.brake, w.steer, w.phase, w.omega) for w in env.car.wheels]
    return places, wheels, env.tile_visited_count, env.reward


@pytest.mark.parametrize("continuous", [True, False])
def test_cars_go_the_same_way(continuous, monkeypatch):
    """Without their pictures, which take nearly all of the time."""
    kwargs = {"continuous": continuous}
    ours = make("CarRacing-v3", **kwargs).unwrapped
    monkeypatch.setattr(type(ours), "_look", lambda *_, **__: None)
    for seed in range(SEEDS):
        theirs = gymnasium.make("CarRacing-v3", disable_env_checker=True, **kwargs).unwrapped
        monkeypatch.setattr(type(theirs), "_render", lambda *_: None)
        theirs.action_space.seed(seed)
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        for number in range(STEPS):
            action = sensible("CarRacing-v3", theirs.action_space.sample(), None, number)
            result, expected = ours.step(action), theirs.step(action)
            assert result[1:] == expected[1:]
            assert car_numbers(ours) == car_numbers(theirs)
            if expected[2] or expected[3]:
                break


@pytest.mark.parametrize(("env_id", "kwargs"), CASES, ids=NAMES)
def test_spaces_and_limits_equal(env_id, kwargs):
    ours, theirs = make(env_id, **kwargs), gymnasium.make(env_id, **kwargs)
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert ours.spec.max_episode_steps == theirs.spec.max_episode_steps
    assert ours.spec.reward_threshold == theirs.spec.reward_threshold
    assert ours.metadata == theirs.metadata


def test_consecutive_episodes_of_the_lander_equal():
    ours, theirs = make("LunarLander-v3", **WIND), gymnasium.make("LunarLander-v3", **WIND)
    ours.reset(seed=5)
    theirs.reset(seed=5)
    theirs.action_space.seed(5)
    ended = 0
    for _ in range(1000):
        action = theirs.action_space.sample()
        expected = theirs.step(action)
        assert_steps_equal(ours.step(action), expected)
        if expected[2] or expected[3]:
            ended += 1
            np.testing.assert_array_equal(ours.reset()[0], theirs.reset()[0])
    assert ended > 3


def test_a_finished_lap_and_leaving_the_field_end_alike():
    ours, theirs = make("CarRacing-v3"), gymnasium.make("CarRacing-v3", disable_env_checker=True)
    idle = np.zeros(3, np.float32)
    for lap in (True, False):
        ours.reset(seed=4)
        theirs.reset(seed=4)
        if lap:
            ours.unwrapped._race.new_lap = theirs.unwrapped.new_lap = True
        else:
            for env in (ours, theirs):
                env.unwrapped.car.hull.position = (400.0, 0.0)
        result, expected = ours.step(idle), theirs.step(idle)
        assert_steps_equal(result, expected)
        assert result[2]
        assert result[4] == {"lap_finished": lap}


def test_colours_are_kept_on_request():
    kwargs = {"domain_randomize": True}
    ours, theirs = make("CarRacing-v3", **kwargs), gymnasium.make("CarRacing-v3", **kwargs)
    ours.reset(seed=4)
    theirs.reset(seed=4)
    options = {"randomize": False}
    kept, expected = ours.reset(options=options), theirs.reset(options=options)
    np.testing.assert_array_equal(kept[0], expected[0])
