from __future__ import annotations

import numpy as np
import pytest

from ludus.spaces import Dict, Discrete
from ludus.wrappers import MaxAndSkipObservation
from tests.wrappers.script_env import ScriptEnv


def test_maximum_of_the_last_two() -> None:
    values = [(0, 0), (9, 9), (1, 5), (4, 2), (3, 3), (2, 8), (1, 1)]
    env = MaxAndSkipObservation(ScriptEnv([np.float32([max(pair)]) for pair in values]), skip=3)
    env.reset()
    observation, reward, terminated, _, info = env.step(0)
    assert observation == 5
    assert (reward, terminated, info) == (3.0, False, {"position": 3})
    assert env.step(0)[0] == 8


def test_early_end_sees_what_earlier_steps_left() -> None:
    env = MaxAndSkipObservation(ScriptEnv([np.float32([i]) for i in (0, 7, 6, 1, 2)]), skip=3)
    env.reset()
    assert env.step(0)[0] == 6
    observation, _, terminated, _, _ = env.step(0)
    assert terminated
    assert observation == 6


@pytest.mark.parametrize(("skip", "error"), [(1, ValueError), (2.0, TypeError)])
def test_bad_skip(skip: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="skip"):
        MaxAndSkipObservation(ScriptEnv(), skip)


def test_observations_without_shape() -> None:
    with pytest.raises(ValueError, match="shape"):
        MaxAndSkipObservation(ScriptEnv(space=Dict(a=Discrete(2))))
