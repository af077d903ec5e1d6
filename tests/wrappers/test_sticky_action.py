from __future__ import annotations

from typing import Any

import pytest

from ludus.errors import InvalidBound, InvalidProbability
from ludus.wrappers import StickyAction
from tests.wrappers.script_env import ScriptEnv


def taken(actions: list[int], **arguments: Any) -> list[int]:
    inner = ScriptEnv(endless=True)
    env = StickyAction(inner, **arguments)
    env.reset(seed=1)
    for action in actions:
        env.step(action)
    return inner.actions


def test_never_sticks_without_probability() -> None:
    assert taken([0, 1, 2, 0, 1], repeat_action_probability=0) == [0, 1, 2, 0, 1]


def test_sticks_for_the_duration() -> None:
    almost_always = taken(
        list(range(10)), repeat_action_probability=1 - 1e-12, repeat_action_duration=3
    )
    assert almost_always == [0] * 10


def test_sticks_as_often_as_probable() -> None:
    actions = taken(list(range(2000)), repeat_action_probability=0.25)
    stuck = sum(action != step for step, action in enumerate(actions))
    assert 400 < stuck < 600


def test_reset_releases() -> None:
    env = StickyAction(ScriptEnv(), 1 - 1e-12, 5)
    env.reset(seed=1)
    env.step(1)
    env.step(2)
    assert env.is_sticky_actions
    env.reset()
    assert (env.last_action, env.is_sticky_actions, env.num_repeats) == (None, False, 0)


@pytest.mark.parametrize(
    ("probability", "duration", "error"),
    [
        (-0.1, 1, InvalidProbability),
        (1, 1, InvalidProbability),
        (0.5, (2, 1), InvalidBound),
        (0.5, (0, 1), ValueError),
        (0.5, 0, ValueError),
        (0.5, (1,), ValueError),
        (0.5, [1, 2], ValueError),
    ],
)
def test_bad_arguments(probability: float, duration: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="repeat_action"):
        StickyAction(ScriptEnv(), probability, duration)
