from __future__ import annotations

import numpy as np
import pytest

from ludus.errors import InvalidBound
from ludus.spaces import Dict, Discrete
from ludus.wrappers import NormalizeObservation
from tests.wrappers.script_env import ScriptEnv


def test_mean_and_variance_become_zero_and_one() -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(30, 5, (3000, 1)).astype(np.float32)
    env = NormalizeObservation(ScriptEnv(list(samples)))
    seen = [env.reset()[0], *(env.step(0)[0] for _ in range(2999))]
    assert abs(np.mean(seen[500:])) < 0.1
    assert abs(np.std(seen[500:]) - 1) < 0.1
    assert env.obs_rms.mean == pytest.approx(samples.mean(), rel=1e-3)
    assert seen[-1].dtype == np.float32
    assert seen[-1] in env.observation_space


def test_frozen_statistics() -> None:
    env = NormalizeObservation(ScriptEnv())
    env.reset()
    env.update_running_mean = False
    assert not env.update_running_mean
    before = env.obs_rms.get_state()
    env.step(0)
    assert env.obs_rms.get_state() == before


def test_statistics_can_be_shared() -> None:
    training, evaluation = NormalizeObservation(ScriptEnv()), NormalizeObservation(ScriptEnv())
    evaluation.obs_rms = training.obs_rms
    training.reset()
    assert evaluation.obs_rms.count == pytest.approx(1.0001)


def test_bad_arguments() -> None:
    with pytest.raises(InvalidBound, match="epsilon"):
        NormalizeObservation(ScriptEnv(), epsilon=0)
    with pytest.raises(ValueError, match="shape"):
        NormalizeObservation(ScriptEnv(space=Dict(a=Discrete(2))))
