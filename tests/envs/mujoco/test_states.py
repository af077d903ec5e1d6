"""States of robots and of batches, pickles, and models of one's own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ludus
from ludus.errors import StateError
from tests.envs.mujoco.support import ONE_OF_EACH_MODEL, robot


@pytest.mark.parametrize("name", ONE_OF_EACH_MODEL)
def test_replay_from_a_state_is_equal(name: str) -> None:
    one, other = robot(name), robot(name)
    one.reset(seed=1)
    actions = np.random.default_rng(0).uniform(-0.4, 0.4, (25, *one.action_space.shape))
    for action in actions[:10]:
        one.step(action)
    other.reset(seed=2)
    other.set_state(one.get_state())
    np.testing.assert_array_equal(one._get_obs(), other._get_obs())
    for action in actions[10:]:
        (seen, reward, *_), (same, equal, *_) = one.step(action), other.step(action)
        np.testing.assert_array_equal(seen, same)
        assert reward == equal
    np.testing.assert_array_equal(one.reset()[0], other.reset()[0])


@pytest.mark.parametrize("name", ["Ant-v5", "Hopper-v5", "Humanoid-v5"])
def test_state_of_a_batch_continues_in_another(name: str) -> None:
    with ludus.make_vec(name, 3) as one, ludus.make_vec(name, 3, num_threads=1) as other:
        one.action_space.seed(0)
        actions = [one.action_space.sample() for _ in range(50)]
        one.reset(seed=1)
        for action in actions[:25]:
            one.step(action)
        other.set_state(one.get_state())
        for action in actions[25:]:
            for mine, same in zip(one.step(action)[:4], other.step(action)[:4], strict=True):
                np.testing.assert_array_equal(mine, same)


def test_state_of_another_model_is_refused() -> None:
    state = robot("Ant-v5").get_state()
    with pytest.raises(StateError):
        robot("Humanoid-v5").set_state(state)
    state["fields"]["physics"] = state["fields"]["physics"][:-1]
    with pytest.raises(StateError, match="another model"):
        robot("Ant-v5").set_state(state)


def test_state_of_another_batch_is_refused() -> None:
    with ludus.make_vec("Hopper-v5", 2) as two, ludus.make_vec("Hopper-v5", 3) as three:
        with pytest.raises(StateError, match="number of environments"):
            three.set_state(two.get_state())
        with (
            ludus.make_vec("Walker2d-v5", 2) as walkers,
            pytest.raises(StateError, match="Walker2dEnv"),
        ):
            two.set_state(walkers.get_state())


def test_positions_and_velocities_can_be_set() -> None:
    env = robot("Hopper-v5", exclude_current_positions_from_observation=False)
    env.reset(seed=0)
    env.set_state(env.init_qpos, env.init_qvel + 1)
    np.testing.assert_array_equal(env._get_obs(), [*env.init_qpos, *env.init_qvel + 1])
    with pytest.raises(ValueError, match="shape"):
        env.set_state(env.init_qpos[1:], env.init_qvel)


@pytest.mark.parametrize("name", ["Ant-v5", "HalfCheetah-v4", "Pusher-v5"])
def test_pickled_robot_goes_on(name: str) -> None:
    env = robot(name)
    env.reset(seed=0)
    copy = pickle.loads(pickle.dumps(env))
    action = env.action_space.sample()
    np.testing.assert_array_equal(env.step(action)[0], copy.step(action)[0])


def test_models_are_not_shared() -> None:
    one, other = robot("Ant-v5"), robot("Ant-v5")
    one.model.opt.timestep *= 2
    assert other.model.opt.timestep == 0.01
    assert one.dt == 2 * other.dt


def test_model_from_a_file(tmp_path) -> None:
    path = tmp_path / "slider.xml"
    path.write_text(
        "<mujoco><worldbody><body><joint name='a' type='slide'/><joint name='b' type='slide' "
        "axis='1 0 0'/><joint name='c'/><geom size='.1'/></body></worldbody><actuator>"
        "<motor joint='a' ctrlrange='-1 1'/></actuator></mujoco>"
    )
    env = robot("HalfCheetah-v5", xml_file=str(path))
    assert env.observation_space.shape == (5,)
    with ludus.make_vec("HalfCheetah-v5", 2, xml_file=str(path)) as envs:
        np.testing.assert_array_equal(envs.reset(seed=3)[0][0], env.reset(seed=3)[0])
