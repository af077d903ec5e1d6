"""Constructor arguments, reset options, attributes, and what is refused."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.errors import InvalidAction, ResetNeeded
from tests.envs.classic_control.support import assert_same_start

IDS = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"]
BOUNDED = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1"]


@pytest.mark.parametrize("env_id", BOUNDED)
@pytest.mark.parametrize("options", [{"low": -0.7, "high": 0.5}, {"high": 0.3}, {}, {"other": 1}])
def test_bounds_of_the_first_state(env_id, options):
    ours, theirs = ludus.make(env_id).unwrapped, gymnasium.make(env_id).unwrapped
    for seed in range(50):
        a, _ = ours.reset(seed=seed, options=options)
        b, _ = theirs.reset(seed=seed, options=options)
        assert_same_start(env_id, a, b)
    # The options count for one reset.
    assert_same_start(env_id, ours.reset(seed=1)[0], theirs.reset(seed=1)[0])


@pytest.mark.parametrize("options", [{"x_init": 0.2, "y_init": 3}, {"y_init": "0.5"}, {}])
def test_bounds_of_the_pendulum(options):
    ours, theirs = ludus.make("Pendulum-v1"), gymnasium.make("Pendulum-v1")
    for seed in range(50):
        a, _ = ours.reset(seed=seed, options=options)
        b, _ = theirs.reset(seed=seed, options=options)
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])


@pytest.mark.parametrize("env_id", BOUNDED)
def test_bad_bounds(env_id):
    env = ludus.make(env_id)
    with pytest.raises(ValueError, match="must be lower"):
        env.reset(options={"low": 1, "high": 0})
    for bad in ("left", None, [1, 2]):
        with pytest.raises(ValueError, match="could not be converted to a float"):
            env.reset(options={"low": bad})


def test_bad_bounds_of_the_pendulum():
    env = ludus.make("Pendulum-v1")
    with pytest.raises(ValueError, match="could not be converted to a float"):
        env.reset(options={"x_init": "far"})
    with pytest.raises(ValueError, match="high - low < 0: cannot draw between 1.0 and -1.0"):
        env.reset(options={"y_init": -1})


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("bound", [math.inf, math.nan])
def test_endless_bounds(env_id, bound):
    key = "x_init" if env_id == "Pendulum-v1" else "high"
    for library in (ludus, gymnasium):
        with pytest.raises(OverflowError, match="[Rr]ange exceeds valid bounds"):
            library.make(env_id).reset(seed=0, options={key: bound})


@pytest.mark.parametrize("env_id", ["MountainCar-v0", "MountainCarContinuous-v0"])
def test_goal_velocity(env_id):
    for goal_velocity in (0, 0.05, 1.0):
        flags = []
        for library in (ludus, gymnasium):
            env = library.make(env_id, goal_velocity=goal_velocity).unwrapped
            env.reset(seed=0)
            env.state = np.array([0.44, 0.03])
            action = 2 if env_id == "MountainCar-v0" else np.ones(1, np.float32)
            flags.append([env.step(action)[2] for _ in range(3)])
        assert flags[0] == flags[1]
        assert any(flags[0]) == (goal_velocity == 0)


@pytest.mark.parametrize(
    ("env_id", "name"),
    [("MountainCar-v0", "goal_velocity"), ("MountainCarContinuous-v0", "goal_velocity")]
    + [("Pendulum-v1", "g")],
)
def test_bad_constructor_arguments(env_id, name):
    for bad, kind in ((None, TypeError), ([], TypeError), ("fast", ValueError)):
        with pytest.raises(kind, match=f"{name}=.*is not a number"):
            ludus.make(env_id, **{name: bad})
    with pytest.raises(ValueError, match=f"{name} is NaN"):
        ludus.make(env_id, **{name: math.nan})


def test_bad_constants_of_the_cart():
    env = ludus.make("CartPole-v1").unwrapped
    with pytest.raises(ValueError, match="use 'euler' or 'semi-implicit euler'"):
        env.kinematics_integrator = "runge-kutta"
    with pytest.raises(ValueError, match="masspole is NaN"):
        env.masspole = math.nan
    assert env.kinematics_integrator == "euler"
    assert env.masspole == 0.1


def test_bad_constants_of_the_acrobot():
    env = ludus.make("Acrobot-v1").unwrapped
    with pytest.raises(ValueError, match="use 'book' or 'nips'"):
        env.book_or_nips = "paper"
    with pytest.raises(ValueError, match="a torque for each of 3 actions"):
        env.AVAIL_TORQUE = [1.0]
    with pytest.raises(TypeError, match=r"AVAIL_TORQUE\[1\]=None"):
        env.AVAIL_TORQUE = [1.0, None, 2.0]
    with pytest.raises(TypeError, match="LINK_MASS_1=None"):
        env.LINK_MASS_1 = None
    assert env.AVAIL_TORQUE == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("env_id", IDS)
def test_steps_need_a_reset(env_id):
    env = ludus.make(env_id).unwrapped
    assert env.state is None
    with pytest.raises(ResetNeeded):
        env.step(env.action_space.sample())


@pytest.mark.parametrize("env_id", ["MountainCar-v0", "Acrobot-v1"])
def test_bad_discrete_actions(env_id):
    env = ludus.make(env_id).unwrapped
    env.reset(seed=0)
    before = env.state
    for action in (3, -1, 0.5, "left", None):
        with pytest.raises(InvalidAction, match="expected an integer from 0 to 2"):
            env.step(action)
    np.testing.assert_array_equal(env.state, before)
    for action in (np.int64(2), np.uint8(1), np.int32(0)):
        env.step(action)


@pytest.mark.parametrize("env_id", ["MountainCarContinuous-v0", "Pendulum-v1"])
def test_bad_continuous_actions(env_id):
    env = ludus.make(env_id).unwrapped
    env.reset(seed=0)
    for action in (None, 0.5, [0.1, 0.2], []):
        with pytest.raises(InvalidAction, match="expected 1 numbers"):
            env.step(action)
    env.step([0.25])


@pytest.mark.parametrize(
    ("env_id", "names"),
    [
        ("MountainCar-v0", "min_position max_position max_speed goal_position goal_velocity force"),
        ("MountainCar-v0", "gravity low high screen_width screen_height"),
        ("MountainCarContinuous-v0", "min_action max_action min_position max_position max_speed"),
        ("MountainCarContinuous-v0", "goal_position goal_velocity power low_state high_state"),
        ("Pendulum-v1", "max_speed max_torque dt g m l screen_dim"),
        ("CartPole-v1", "gravity masscart masspole total_mass length polemass_length force_mag"),
        ("CartPole-v1", "tau kinematics_integrator theta_threshold_radians x_threshold"),
        ("CartPole-v1", "screen_width screen_height steps_beyond_terminated"),
        ("Acrobot-v1", "dt LINK_LENGTH_1 LINK_LENGTH_2 LINK_MASS_1 LINK_MASS_2 LINK_COM_POS_1"),
        ("Acrobot-v1", "LINK_COM_POS_2 LINK_MOI MAX_VEL_1 MAX_VEL_2 AVAIL_TORQUE SCREEN_DIM"),
        ("Acrobot-v1", "torque_noise_max book_or_nips actions_num"),
    ],
)
def test_attributes_are_gymnasiums(env_id, names):
    ours, theirs = ludus.make(env_id).unwrapped, gymnasium.make(env_id).unwrapped
    for name in names.split():
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_keys_of_the_mountain_car():
    ours, theirs = ludus.make("MountainCar-v0"), gymnasium.make("MountainCar-v0")
    assert ours.unwrapped.get_keys_to_action() == theirs.unwrapped.get_keys_to_action()


def test_the_pendulums_last_torque():
    env = ludus.make("Pendulum-v1").unwrapped
    env.reset(seed=0)
    assert env.last_u is None
    env.step(np.array([5.0], np.float32))
    assert env.last_u == 2.0
    env.reset()
    assert env.last_u is None


@pytest.mark.parametrize("env_id", IDS[1:])
def test_states_are_saved_and_restored(env_id):
    env = ludus.make(env_id)
    env.reset(seed=5)
    env.action_space.seed(5)
    actions = [env.action_space.sample() for _ in range(20)]
    for action in actions[:10]:
        env.step(action)
    saved = env.get_state()
    first = [env.step(action)[0] for action in actions]
    other = ludus.make(env_id)
    other.reset(seed=6)
    other.set_state(saved)
    np.testing.assert_array_equal(first, [other.step(action)[0] for action in actions])
