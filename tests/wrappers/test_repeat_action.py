from __future__ import annotations

import pytest

from ludus.wrappers import RepeatAction
from tests.wrappers.script_env import ScriptEnv


def test_rewards_add_up_until_the_end() -> None:
    inner = ScriptEnv(rewards=[1, 2, 3, 4, 5])
    env = RepeatAction(inner, 3)
    env.reset()
    observation, reward, terminated, _, info = env.step(2)
    assert (observation[0], reward, terminated, info) == (3, 6.0, False, {"position": 3})
    observation, reward, terminated, _, _ = env.step(1)
    assert (observation[0], reward, terminated) == (5, 9.0, True)
    assert inner.actions == [2, 2, 2, 1, 1]
    assert isinstance(reward, float)


@pytest.mark.parametrize(("number", "error"), [(0, ValueError), (1.0, TypeError)])
def test_bad_number(number: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="num_repeats"):
        RepeatAction(ScriptEnv(), number)
