"""The state of classic control is an array that can be read, edited and assigned."""

from __future__ import annotations

import copy

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.envs.classic_control import CartPoleEnv, PendulumEnv
from ludus.envs.classic_control.acrobot import AcrobotEnv
from ludus.errors import InvalidAction, StateError

IDS = ["CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"]


def pair(env_id):
    envs = [library.make(env_id).unwrapped for library in (ludus, gymnasium)]
    for env in envs:
        env.reset(seed=3)
    return envs


def action_of(env):
    return np.array([0.5], np.float32) if env.action_space.shape else 1


@pytest.mark.parametrize("env_id", IDS)
def test_type_dtype_and_shape_are_gymnasiums(env_id):
    ours, theirs = pair(env_id)
    for _ in range(3):
        expected = np.asarray(theirs.state)
        assert type(ours.state) is np.ndarray
        assert (ours.state.dtype, ours.state.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(ours.state, expected, rtol=1e-6, atol=1e-9)
        for env in (ours, theirs):
            env.step(action_of(env))


@pytest.mark.parametrize("env_id", IDS)
def test_edits_take_effect_until_the_next_step(env_id):
    ours, theirs = pair(env_id)
    for env in (ours, theirs):
        env.state[0] = 0.03
        env.state[1] += 0.01
    a, b = (env.step(action_of(env)) for env in (ours, theirs))
    np.testing.assert_allclose(a[0], b[0], rtol=1e-5, atol=1e-7)
    held = ours.state
    before = held.copy()
    ours.step(action_of(ours))
    np.testing.assert_array_equal(held, before)
    assert not np.array_equal(ours.state, held)
    after = ours.state.copy()
    held[:] = 9.0
    np.testing.assert_array_equal(ours.state, after)


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("kind", [np.array, tuple, list])
def test_assigned_states(env_id, kind):
    ours, theirs = pair(env_id)
    numbers = np.linspace(-0.05, 0.06, len(ours.state))
    for env in (ours, theirs):
        env.state = kind(numbers)
        assert type(env.state) is type(kind(numbers))
        if kind is not tuple:
            env.state[0] = 0.01
    a, b = (env.step(action_of(env)) for env in (ours, theirs))
    np.testing.assert_allclose(a[0], b[0], rtol=1e-5, atol=1e-7)
    assert a[1] == pytest.approx(float(b[1]), rel=1e-6)


@pytest.mark.parametrize("env_id", IDS)
def test_edits_are_copied_saved_and_drawn(env_id):
    env = ludus.make(env_id, render_mode="rgb_array").unwrapped
    env.reset(seed=3)
    before = env.render()
    env.state[0] = -0.9
    assert not np.array_equal(env.render(), before)
    twin = copy.deepcopy(env)
    saved = env.get_state()
    later = ludus.make(env_id).unwrapped
    later.reset(seed=4)
    _ = later.state
    later.set_state(saved)
    seen = [each.step(action_of(env))[0].tobytes() for each in (env, twin, later)]
    assert len(set(seen)) == 1


def test_constants_may_change_while_the_state_is_edited():
    ours, theirs = pair("CartPole-v1")
    for env in (ours, theirs):
        env.state[2] = 0.1
        env.gravity = 3.0
        env.kinematics_integrator = "semi-implicit euler"
        env.state[3] = -0.2
    np.testing.assert_allclose(ours.step(1)[0], theirs.step(1)[0], rtol=1e-6)


def test_a_refused_action_leaves_the_edited_state():
    env = ludus.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    state = env.state
    state[0] = 0.5
    with pytest.raises(InvalidAction):
        env.step(7)
    assert env.state is state
    state[0] = 0.6
    assert env.step(1)[0][0] == pytest.approx(0.6, abs=0.01)


def test_a_reset_forgets_edits():
    env = ludus.make("CartPole-v1").unwrapped
    first, _ = env.reset(seed=0)
    env.state[:] = 1.0
    again, _ = env.reset(seed=0)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(env.state, first, rtol=1e-6)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (np.zeros(3), ValueError),
        (np.zeros((4, 1)), ValueError),
        ("abcd", ValueError),
        ([1, 2, 3, {}], TypeError),
        (0.5, ValueError),
    ],
)
def test_bad_states(bad, error):
    env = ludus.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    before = env.state.copy()
    with pytest.raises(error, match="A state is the numbers x, x_dot, theta, theta_dot"):
        env.state = bad
    np.testing.assert_array_equal(env.state, before)
    env.state = list(before)
    env.state.pop()
    with pytest.raises(ValueError, match="shape"):
        env.step(0)
    env.reset(seed=0)
    np.testing.assert_array_equal(env.state, before)


def test_batches_have_an_array_too():
    for build in (
        lambda: ludus.make_vec("CartPole-v1", 3),
        lambda: ludus.envs.classic_control.CartPoleVectorEnv(3),
    ):
        with build() as envs:
            batch = envs.unwrapped
            assert batch.state is None
            envs.reset(seed=0)
            assert batch.state.shape == (4, 3)
            assert batch.state.dtype == np.float64
            batch.state[0] = 0.5
            batch.state[2, 1] = 0.1
            seen = envs.step(np.array([1, 0, 1]))[0]
            np.testing.assert_allclose(seen[:, 0], 0.5, atol=0.01)
            assert seen[1, 2] == pytest.approx(0.1, abs=0.01)
            held, before = batch.state, batch.state.copy()
            envs.step(np.array([1, 0, 1]))
            np.testing.assert_array_equal(held, before)
            batch.state = np.full((4, 3), 2.5)
            assert envs.step(np.array([0, 1, 1]))[2].all()
            with pytest.raises(ValueError, match=r"shape \(4, 3\)"):
                batch.state = np.zeros((3, 4))


def test_batches_step_like_single_environments_from_an_assigned_state():
    states = np.random.default_rng(0).uniform(-0.1, 0.1, (2, 4))
    with ludus.make_vec("Pendulum-v1", 4) as envs:
        envs.reset(seed=0)
        envs.unwrapped.state = states
        envs.unwrapped.g = 3.0
        seen, rewards, *_ = envs.step(np.full((4, 1), 0.5, np.float32))
        assert envs.unwrapped.g == 3.0
    for index in range(4):
        env = ludus.make("Pendulum-v1", g=3.0).unwrapped
        env.reset()
        env.state = states[:, index]
        alone = env.step(np.array([0.5], np.float32))
        assert alone[0].tobytes() == seen[index].tobytes()
        assert alone[1] == rewards[index]


def test_batches_and_a_setting_that_needs_other_code():
    with ludus.make_vec("CartPole-v1", 2) as envs:
        envs.reset(seed=0)
        envs.unwrapped.kinematics_integrator = "euler"
        with pytest.raises(AttributeError, match="vectorization_mode='sync'"):
            envs.unwrapped.kinematics_integrator = "semi-implicit euler"
        with pytest.raises(ValueError, match="vectorization_mode='sync'"):
            envs.unwrapped.set_attr("kinematics_integrator", "semi-implicit euler")
        envs.step(np.array([0, 1]))


def test_attributes_of_a_batch():
    with (
        ludus.make_vec("Pendulum-v1", 3) as envs,
        ludus.make_vec("Pendulum-v1", 3, vectorization_mode="sync") as apart,
    ):
        for batch in (envs, apart):
            batch.reset(seed=1)
            batch.set_attr("g", 2.0)
            batch.set_attr("state", [np.array([0.1 * k, 0.2]) for k in range(3)])
            assert batch.get_attr("g") == (2.0, 2.0, 2.0)
            assert len(batch.call("reset", seed=4)) == 3
        np.testing.assert_array_equal(envs.get_attr("state"), apart.get_attr("state"))
        actions = np.array([[0.1], [-2.0], [1.0]], np.float32)
        for a, b in zip(envs.step(actions)[:4], apart.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(ValueError, match="share g, so it cannot differ"):
            envs.set_attr("g", [1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="2 values for 3 environments"):
            envs.set_attr("g", [1.0, 2.0])
        with pytest.raises(AttributeError):
            envs.get_attr("nothing")
        assert envs.get_attr("g") == (2.0, 2.0, 2.0)


def test_the_stream_of_a_batch_goes_on_after_its_attributes_were_read():
    frames = []
    for look in (False, True):
        with ludus.make_vec("FrozenLake-v1", 3) as lakes:
            lakes.reset(seed=3)
            rows = []
            for step in range(60):
                if look:
                    assert len(lakes.get_attr("s")) == 3
                    lakes.get_attr("P")
                rows.append(lakes.step(np.array([step % 4, 1, 2]))[0].tolist())
            frames.append(rows)
    assert frames[0] == frames[1]


def test_subclasses_whose_overrides_would_be_ignored():
    with pytest.raises(TypeError, match=r"overrides _dsdt\(\), which AcrobotEnv of Ludus"):
        type("Bent", (AcrobotEnv,), {"_dsdt": lambda self, state: state})
    with pytest.raises(TypeError, match=r"Growing\.gravity is a property; compiled code reads"):
        type("Growing", (CartPoleEnv,), {"gravity": property(lambda self: 1.0)})


def test_a_subclass_may_observe_otherwise():
    class Angle(PendulumEnv):
        def _get_obs(self):
            return np.append(super()._get_obs(), self.state[0]).astype(np.float32)

    env = Angle()
    env.reset(seed=0)
    for _ in range(3):
        env.state[0] += 0.1
        seen = env.step(np.array([1.0], np.float32))[0]
        assert seen.shape == (4,)
        assert seen[3] == np.float32(env.state[0])
        assert seen[0] == pytest.approx(np.cos(seen[3]), abs=1e-6)


def test_states_of_other_kinds_are_refused_still():
    env = ludus.make("CartPole-v1")
    env.reset(seed=0)
    with pytest.raises(StateError):
        env.set_state({"nothing": 1})
