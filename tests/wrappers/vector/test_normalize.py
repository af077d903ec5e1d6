from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.core import AutoresetMode
from ludus.errors import InvalidBound
from ludus.spaces import Box
from ludus.wrappers.vector import NormalizeObservation, NormalizeReward
from tests.wrappers.vector.support import NOOP, Scripted, twins


def random_steps(envs: Any, count: int) -> list[Any]:
    envs.action_space.seed(1)
    return [envs.step(envs.action_space.sample()) for _ in range(count)]


def test_observations_get_mean_zero_and_variance_one() -> None:
    envs = NormalizeObservation(twins("int_box"))
    assert envs.single_observation_space == Box(-np.inf, np.inf, (2, 2), np.float32)
    assert envs.observation_space.shape == (3, 2, 2)
    envs.reset(seed=0)
    batches = np.array([result[0] for result in random_steps(envs, 300)])
    assert batches.dtype == np.float32
    assert abs(batches.mean()) < 0.1
    assert abs(batches.var() - 1) < 0.1


def test_frozen_observation_statistics() -> None:
    envs = NormalizeObservation(twins())
    envs.reset(seed=0)
    envs.update_running_mean = False
    mean, count = envs.obs_rms.mean.copy(), envs.obs_rms.count
    random_steps(envs, 5)
    assert envs.obs_rms.count == count
    assert (envs.obs_rms.mean == mean).all()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_observations_need_next_step_autoreset(mode: AutoresetMode) -> None:
    with pytest.raises(ValueError, match=mode.name):
        NormalizeObservation(twins(mode=mode))


def test_observations_refuse_partial_resets() -> None:
    envs = NormalizeObservation(twins())
    with pytest.raises(ValueError, match="partial resets"):
        envs.reset(options={"reset_mask": np.array([True, False, True])})
    envs.reset(options={"reset_mask": np.array([True, True, True])})


def test_rewards_skip_the_resetting_step() -> None:
    envs = NormalizeReward(
        Scripted(
            [
                (np.array([1.0, 2.0]), [1, 0], {}),
                (np.array([0.0, 2.0]), [0, 0], {}),
            ]
        ),
        gamma=0.5,
    )
    envs.reset()
    envs.step(NOOP)
    assert envs.accumulated_reward.tolist() == [1.0, 2.0]
    envs.step(NOOP)
    assert envs.accumulated_reward.tolist() == [1.0, 3.0]
    assert round(envs.return_rms.count) == 3
    envs.reset()
    assert envs.accumulated_reward.tolist() == [0.0, 0.0]


def test_rewards_under_same_step_autoreset() -> None:
    inner = Scripted(
        [(np.array([1.0, 2.0]), [1, 0], {}), (np.array([4.0, 2.0]), [0, 0], {})],
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    envs = NormalizeReward(inner, gamma=0.5)
    envs.reset()
    envs.step(NOOP)
    assert envs.accumulated_reward.tolist() == [0.0, 2.0]
    envs.step(NOOP)
    assert envs.accumulated_reward.tolist() == [4.0, 3.0]
    assert round(envs.return_rms.count) == 4


def test_frozen_reward_statistics() -> None:
    envs = NormalizeReward(twins())
    envs.reset(seed=0)
    random_steps(envs, 5)
    envs.update_running_mean = False
    count = envs.return_rms.count
    random_steps(envs, 5)
    expected = 3.0 / np.sqrt(envs.return_rms.var + envs.epsilon)
    assert envs.normalize(3.0) == expected
    assert envs.return_rms.count == count
    envs.update_running_mean = True
    envs.normalize(3.0)
    assert round(envs.return_rms.count - count) == 3


@pytest.mark.parametrize(
    ("wrapper", "kwargs"),
    [
        (NormalizeObservation, {"epsilon": 0}),
        (NormalizeReward, {"epsilon": -1e-9}),
        (NormalizeReward, {"gamma": 1.01}),
        (NormalizeReward, {"gamma": -0.1}),
        (NormalizeReward, {"gamma": float("nan")}),
    ],
)
def test_bad_arguments(wrapper: Any, kwargs: Any) -> None:
    with pytest.raises(InvalidBound, match=next(iter(kwargs))):
        wrapper(twins(), **kwargs)
