from __future__ import annotations

import pytest

from ludus.wrappers import TimeLimit
from tests.wrappers.script_env import ScriptEnv


def test_truncates_at_the_limit_and_keeps_saying_so() -> None:
    env = TimeLimit(ScriptEnv(endless=True), max_episode_steps=3)
    env.reset()
    assert [env.step(0)[3] for _ in range(4)] == [False, False, True, True]
    env.reset()
    assert env.step(0)[3] is False


def test_termination_at_the_limit_is_kept() -> None:
    env = TimeLimit(ScriptEnv(), max_episode_steps=5)
    env.reset()
    results = [env.step(0) for _ in range(5)]
    assert [result[2:4] for result in results[-2:]] == [(False, False), (True, True)]


def test_attributes_tell_the_time() -> None:
    env = TimeLimit(ScriptEnv(), max_episode_steps=5)
    assert env._max_episode_steps == 5
    assert env._elapsed_steps is None
    env.reset()
    env.step(0)
    assert env._elapsed_steps == 1


def test_step_before_reset_fails() -> None:
    with pytest.raises(TypeError):
        TimeLimit(ScriptEnv(), 5).step(0)


@pytest.mark.parametrize(("limit", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError)])
def test_bad_limit(limit: float, error: type[Exception]) -> None:
    with pytest.raises(error, match="max_episode_steps"):
        TimeLimit(ScriptEnv(), limit)  # type: ignore[arg-type]
