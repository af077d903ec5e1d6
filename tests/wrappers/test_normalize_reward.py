from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import InvalidBound
from ludus.wrappers import NormalizeReward
from tests.wrappers.script_env import ScriptEnv


def test_rewards_are_scaled_not_shifted() -> None:
    rng = np.random.default_rng(0)
    rewards = rng.normal(0, 50, 3000)
    env = NormalizeReward(ScriptEnv([np.float32([0])] * 3001, rewards=list(rewards)), gamma=0)
    env.reset()
    scaled = np.array([float(env.step(0)[1]) for _ in range(3000)])
    assert np.std(scaled[500:]) == pytest.approx(1, abs=0.05)
    assert (np.sign(scaled) == np.sign(rewards)).all()


def test_discounted_return_starts_anew_after_termination() -> None:
    env = NormalizeReward(ScriptEnv(), gamma=0.5)
    env.reset()
    seen = []
    for _ in range(5):
        env.step(0)
        seen.append(float(env.discounted_reward[0]))
    assert seen == [1, 1.5, 1.75, 1.875, 1.0]


def test_frozen_statistics() -> None:
    env = NormalizeReward(ScriptEnv())
    env.reset()
    env.update_running_mean = False
    env.step(0)
    assert not env.update_running_mean
    assert env.return_rms.count == 1e-4


@pytest.mark.parametrize("arguments", [{"gamma": -0.1}, {"gamma": 1.01}, {"epsilon": 0.0}])
def test_bad_arguments(arguments: dict[str, float]) -> None:
    with pytest.raises(InvalidBound, match=next(iter(arguments))):
        NormalizeReward(ScriptEnv(), **arguments)
