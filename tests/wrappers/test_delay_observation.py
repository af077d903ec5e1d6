from __future__ import annotations

import numpy as np
import pytest

from ludus.spaces import Box
from ludus.wrappers import DelayObservation
from tests.wrappers.script_env import ScriptEnv


def test_observations_come_late_and_zeros_before() -> None:
    env = DelayObservation(ScriptEnv([np.float32([i + 10]) for i in range(6)]), 2)
    seen = [env.reset()[0], *(env.step(0)[0] for _ in range(4))]
    assert [int(observation[0]) for observation in seen] == [0, 0, 10, 11, 12]
    assert int(env.reset()[0][0]) == 0, "a new episode starts with nothing under way"


def test_zero_is_as_near_as_the_space_allows() -> None:
    env = DelayObservation(ScriptEnv(space=Box(3, 5, (1,))), 1)
    assert env.reset()[0] == 3


@pytest.mark.parametrize(
    ("delay", "error"), [(-1, ValueError), (1.0, TypeError), (True, TypeError)]
)
def test_bad_delay(delay: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="delay"):
        DelayObservation(ScriptEnv(), delay)
