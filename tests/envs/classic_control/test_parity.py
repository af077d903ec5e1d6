"""Every environment beside Gymnasium's: same seeds and actions, same numbers."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import ludus
from tests.envs.classic_control.support import assert_same_start

IDS = ["MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"]
SEEDS, STEPS = 20, 300
# NumPy squares float32 torques with powf, and math.pow squares doubles: both miss the nearest
# number now and then.
REWARD_TOLERANCE = {"Pendulum-v1": 1e-9, "MountainCarContinuous-v0": 1e-15}
# Acrobot is chaotic: a difference in the last bit of a double grows to one of a float32's last
# bit within some hundred steps, so only the beginning of its episodes can be compared.
COMPARABLE = {"Acrobot-v1": 100}


class Chooser:
    """Acts at random, or pumps energy so that goals are reached, or leaves the action space."""

    def __init__(self, space, seed):
        self.discrete = hasattr(space, "n")
        self.space = space
        self.style = seed % 4
        self.rng = np.random.default_rng(seed)

    def __call__(self, observation):
        along = observation[-1] >= 0
        if self.discrete:
            last = int(self.space.n) - 1
            return int(self.rng.integers(last + 1)) if self.style % 2 else (last if along else 0)
        scale = float(self.space.high[0])
        force = self.rng.uniform(-scale, scale) * (1.7 if self.style == 3 else 1.0)
        if self.style == 0:
            force = abs(force) if along else -abs(force)
        return np.array([force], dtype=np.float64 if self.style == 2 else np.float32)


def pair(env_id, **kwargs):
    return ludus.make(env_id, **kwargs).unwrapped, gymnasium.make(env_id, **kwargs).unwrapped


def assert_same_step(ours, theirs, reward_tolerance):
    observation, reward, terminated, truncated, info = ours
    assert observation.dtype == theirs[0].dtype
    assert observation.shape == theirs[0].shape
    np.testing.assert_array_max_ulp(observation, theirs[0], maxulp=4)
    assert isinstance(reward, float)
    assert reward == pytest.approx(float(theirs[1]), rel=0, abs=reward_tolerance)
    assert (terminated, truncated, info) == theirs[2:]


@pytest.mark.parametrize("env_id", IDS)
def test_spaces_and_specs(env_id):
    ours, theirs = ludus.make(env_id), gymnasium.make(env_id)
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert ours.metadata == theirs.metadata
    assert type(ours.unwrapped).__name__ == type(theirs.unwrapped).__name__
    for name in ("max_episode_steps", "reward_threshold", "nondeterministic", "order_enforce"):
        assert getattr(ours.spec, name) == getattr(theirs.spec, name)


@pytest.mark.parametrize("env_id", IDS)
def test_first_observations_are_equal(env_id):
    ours, theirs = pair(env_id)
    for seed in range(1500):
        a, b = ours.reset(seed=seed), theirs.reset(seed=seed)
        assert_same_start(env_id, a[0], b[0])
        assert a[1] == b[1]
    for _ in range(50):
        assert_same_start(env_id, ours.reset()[0], theirs.reset()[0])


@pytest.mark.parametrize("env_id", IDS)
def test_steps_from_common_states(env_id):
    ours, theirs = pair(env_id)
    tolerance = REWARD_TOLERANCE.get(env_id, 0.0)
    ends = 0
    for seed in range(SEEDS):
        choose = Chooser(theirs.action_space, seed)
        ours.reset(seed=seed)
        observation, _ = theirs.reset(seed=seed)
        for _ in range(STEPS):
            ours.state = tuple(theirs.state)
            action = choose(observation)
            b = theirs.step(action)
            assert_same_step(ours.step(action), b, tolerance)
            observation = b[0]
            ends += b[2]
            if b[2]:
                break
    assert ends > 0 or env_id == "Pendulum-v1"


@pytest.mark.parametrize("env_id", IDS)
def test_whole_episodes(env_id):
    ours, theirs = ludus.make(env_id), gymnasium.make(env_id)
    for seed in range(SEEDS):
        choose = Chooser(theirs.action_space, seed)
        a, b = ours.reset(seed=seed), theirs.reset(seed=seed)
        for _ in range(COMPARABLE.get(env_id, STEPS)):
            action = choose(b[0])
            a, b = ours.step(action), theirs.step(action)
            np.testing.assert_allclose(a[0], b[0], rtol=1e-6, atol=1e-6)
            assert a[1] == pytest.approx(float(b[1]), rel=0, abs=1e-6)
            assert a[2:] == b[2:]
            if a[2] or a[3]:
                break


@pytest.mark.parametrize("env_id", IDS)
def test_plain_and_compiled_code_give_the_same_bits(env_id, monkeypatch):
    compiled = ludus.make(env_id).unwrapped
    monkeypatch.setenv("LUDUS_JIT", "0")
    plain = ludus.make(env_id).unwrapped
    for seed in range(4):
        choose = Chooser(plain.action_space, seed)
        a, b = plain.reset(seed=seed), compiled.reset(seed=seed)
        for _ in range(60):
            action = choose(a[0])
            a, b = plain.step(action), compiled.step(action)
            assert a[0].tobytes() == b[0].tobytes()
            assert a[1:] == b[1:]
            assert plain.state.tobytes() == compiled.state.tobytes()


@pytest.mark.parametrize("env_id", IDS)
def test_batches_equal_single_environments(env_id):
    count = 5
    batch = ludus.make_vec(env_id, count)
    singles = [ludus.make(env_id) for _ in range(count)]
    observations, _ = batch.reset(seed=7)
    for i, env in enumerate(singles):
        np.testing.assert_array_equal(observations[i], env.reset(seed=7 + i)[0])
    batch.action_space.seed(7)
    for _ in range(50):
        actions = batch.action_space.sample()
        observations, rewards, *_ = batch.step(actions)
        for i, env in enumerate(singles):
            observation, reward, *_ = env.step(actions[i])
            np.testing.assert_array_equal(observations[i], observation)
            assert rewards[i] == reward
    batch.close()


def compare(env_id, ours, theirs, steps=40):
    choose = Chooser(theirs.action_space, 1)
    a, b = ours.reset(seed=3), theirs.reset(seed=3)
    assert_same_start(env_id, a[0], b[0])
    for _ in range(steps):
        action = choose(b[0])
        a, b = ours.step(action), theirs.step(action)
        np.testing.assert_allclose(a[0], b[0], rtol=1e-6, atol=1e-6)
        assert a[1] == pytest.approx(float(b[1]), abs=1e-6)
        assert a[2] == b[2]
        if b[2]:
            break


@pytest.mark.parametrize(
    ("env_id", "changes"),
    [
        ("CartPole-v1", {"gravity": 3.0, "force_mag": 2.0, "tau": 0.01}),
        ("CartPole-v1", {"masspole": 0.3, "length": 0.8}),
        ("CartPole-v1", {"total_mass": 1.3, "polemass_length": 0.1, "masscart": 2.0}),
        ("CartPole-v1", {"kinematics_integrator": "semi-implicit euler", "tau": 0.05}),
        ("CartPole-v1", {"theta_threshold_radians": 0.1, "x_threshold": 1.0}),
        ("MountainCar-v0", {"force": 0.002, "gravity": 0.001, "goal_position": -0.3}),
        ("MountainCar-v0", {"max_speed": 0.01, "min_position": -0.61, "goal_velocity": 0.02}),
        ("MountainCarContinuous-v0", {"power": 0.003, "goal_position": -0.3}),
        ("MountainCarContinuous-v0", {"max_speed": 0.01, "max_action": 0.2, "min_action": -0.1}),
        ("Pendulum-v1", {"g": 3.0, "m": 1.3, "l": 0.7, "dt": 0.02}),
        ("Pendulum-v1", {"max_speed": 1.0, "max_torque": 0.3}),
        ("Acrobot-v1", {"LINK_LENGTH_1": 1.3, "LINK_MASS_2": 0.8, "LINK_COM_POS_1": 0.4}),
        ("Acrobot-v1", {"LINK_MOI": 1.1, "LINK_COM_POS_2": 0.6, "LINK_MASS_1": 1.2, "dt": 0.1}),
        ("Acrobot-v1", {"book_or_nips": "nips", "AVAIL_TORQUE": [-2.0, 0.5, 2.0]}),
        ("Acrobot-v1", {"torque_noise_max": 0.5}),
        ("Acrobot-v1", {"MAX_VEL_1": 0.5, "MAX_VEL_2": 0.4, "LINK_MASS_2": 1.4}),
    ],
)
def test_constants_can_be_changed(env_id, changes):
    ours, theirs = pair(env_id)
    compare(env_id, ours, theirs, steps=3)
    for name, value in changes.items():
        assert getattr(ours, name) == getattr(theirs, name)
        setattr(ours, name, value)
        setattr(theirs, name, value)
        assert getattr(ours, name) == value
    for action in [theirs.action_space.sample() for _ in range(3)]:
        np.testing.assert_allclose(ours.step(action)[0], theirs.step(action)[0], atol=1e-6)
    compare(env_id, ours, theirs)


def test_acrobots_constants_can_be_set_by_a_subclass():
    from gymnasium.envs.classic_control import AcrobotEnv as Theirs

    from ludus.envs.classic_control import AcrobotEnv as Ours

    body = {"LINK_LENGTH_1": 1.2, "torque_noise_max": 0.3, "book_or_nips": "nips"}
    ours, theirs = (type("Mine", (base,), dict(body))() for base in (Ours, Theirs))
    compare("Acrobot-v1", ours, theirs)
    ours.LINK_LENGTH_1 = theirs.LINK_LENGTH_1 = 0.9
    assert type(ours).LINK_LENGTH_1 == 1.2
    compare("Acrobot-v1", ours, theirs)
    assert Ours.LINK_LENGTH_1 == 1.0


def test_noise_can_be_switched_on_and_off_in_an_episode():
    ours, theirs = pair("Acrobot-v1")
    ours.reset(seed=0)
    theirs.reset(seed=0)
    for noise in (0.0, 0.5, 0.0, 0.2):
        ours.torque_noise_max = theirs.torque_noise_max = noise
        for action in (0, 1, 2):
            np.testing.assert_allclose(ours.step(action)[0], theirs.step(action)[0], atol=1e-6)
    assert ours.np_random.random() == theirs.np_random.random()
