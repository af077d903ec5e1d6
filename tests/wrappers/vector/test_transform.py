from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.core import AutoresetMode
from ludus.spaces import Box, Dict, Discrete
from ludus.wrappers.vector import TransformAction, TransformObservation, TransformReward
from tests.wrappers.vector.support import NOOP, Scripted, twins


def test_observation_function_and_spaces() -> None:
    inner = twins()
    envs = TransformObservation(inner, np.abs)
    assert envs.observation_space is inner.observation_space
    assert (envs.reset(seed=0)[0] == np.abs(twins().reset(seed=0)[0])).all()
    assert (envs.step(np.zeros(3, np.int64))[0] >= 0).all()

    single = Box(0.0, 2.0, (3,), np.float32)
    envs = TransformObservation(inner, np.abs, single_observation_space=single)
    assert envs.single_observation_space == single
    assert envs.observation_space == Box(0.0, 2.0, (3, 3), np.float32)


def test_action_function_and_spaces() -> None:
    inner = Scripted([(np.zeros(2), [0, 0], {})])
    envs: Any = TransformAction(
        inner, lambda act: act["k"] + 1, single_action_space=Dict(k=Discrete(2))
    )
    assert envs.single_action_space == Dict(k=Discrete(2))
    assert envs.action_space["k"].shape == (2,)
    envs.step({"k": NOOP})
    assert inner.taken[0].tolist() == [1, 1]


def test_reward_function() -> None:
    envs = TransformReward(Scripted([(np.array([1.0, -3.0]), [0, 0], {})]), np.square)
    assert envs.step(NOOP)[1].tolist() == [1.0, 9.0]


def test_spaces_that_do_not_match() -> None:
    box = Box(0.0, 2.0, (3, 3), np.float32)
    with pytest.warns(UserWarning, match="don't match as expected"):
        envs = TransformObservation(twins(), np.abs, observation_space=box)
    assert envs.observation_space == box
    with pytest.warns(UserWarning, match="don't match as expected"):
        TransformAction(twins(), np.abs, action_space=box)


def test_same_step_observations_are_refused() -> None:
    with pytest.raises(ValueError, match="SAME_STEP"):
        TransformObservation(twins(mode=AutoresetMode.SAME_STEP), np.abs)
