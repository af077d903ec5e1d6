from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from ludus.core import Env
from ludus.errors import Error
from ludus.spaces import Box, Discrete
from ludus.wrappers import PassiveEnvChecker
from tests.wrappers.script_env import ScriptEnv


class Careless(ScriptEnv):
    """Returns the same array every time, changed in place."""

    def __init__(self) -> None:
        super().__init__(endless=True)
        self.buffer = np.zeros(1, np.float32)

    def step(self, action: Any) -> Any:
        observation, *rest = super().step(action)
        self.buffer[:] = observation
        return (self.buffer, *rest)


def test_sound_environment_passes_unnoticed_and_unchanged() -> None:
    env = PassiveEnvChecker(ScriptEnv(render_mode="rgb_array"))
    observation, info = env.reset(seed=1, options={"a": 1})
    assert observation == 0
    assert info == {"options": {"a": 1}}
    assert [env.step(0)[0] for _ in range(3)] == [1, 2, 3]
    assert env.render().shape == (4, 6, 3)
    assert env.render()[0, 0, 0] == 3
    env.close()
    env.close()


def test_only_the_first_calls_are_checked() -> None:
    env = PassiveEnvChecker(ScriptEnv([np.float32([i]) for i in (0, 1, 2, 999)]))
    env.reset()
    env.step(0)
    env.step(0)
    assert env.step(0)[0] == 999

    strange = PassiveEnvChecker(ScriptEnv([np.float32([0]), np.float32([999]), np.float32([0])]))
    strange.reset()
    with pytest.warns(UserWarning, match="not within the observation space"):
        strange.step(0)


def test_reused_observations_are_reported_once() -> None:
    env = PassiveEnvChecker(Careless())
    env.reset()
    env.step(0)
    with pytest.warns(UserWarning, match="`step` and the following `step` share"):
        env.step(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.step(0)


def test_step_without_reset_is_not_the_checkers_business() -> None:
    env = PassiveEnvChecker(ScriptEnv())
    assert env.step(0)[0] == 1
    assert env.step(0)[0] == 2


def test_old_style_reset_is_reported_not_fatal() -> None:
    class OldReset(ScriptEnv):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return super().reset(seed=seed)[0]

    env = PassiveEnvChecker(OldReset())
    with pytest.warns(UserWarning, match="was not a tuple"):
        assert env.reset() == 0
    assert env.step(0)[0] == 1


def test_result_of_the_wrong_length() -> None:
    class ThreeParts(ScriptEnv):
        def step(self, action: Any) -> Any:
            return super().step(action)[:3]

    env = PassiveEnvChecker(ThreeParts())
    env.reset()
    with pytest.raises(Error, match="four or five"):
        env.step(0)


@pytest.mark.parametrize("missing", ["action", "observation"])
def test_missing_space(missing: str) -> None:
    class NoSpace(Env[Any, Any]):
        if missing == "observation":
            action_space = Discrete(2)
        else:
            observation_space = Box(0, 1)

    with pytest.raises(AttributeError, match=f"must specify an {missing} space"):
        PassiveEnvChecker(NoSpace())


def test_space_that_is_none() -> None:
    with pytest.raises(TypeError):
        PassiveEnvChecker(ScriptEnv(space="box"))  # type: ignore[arg-type]


def test_second_close_that_fails_is_reported() -> None:
    class CloseOnce(ScriptEnv):
        def close(self) -> None:
            super().close()
            if self.closed > 1:
                raise RuntimeError("closed already")

    env = PassiveEnvChecker(CloseOnce())
    env.close()
    assert env.close_called
    with pytest.warns(UserWarning, match="closed environment"), pytest.raises(RuntimeError):
        env.close()
