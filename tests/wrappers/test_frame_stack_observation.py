from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.spaces import Box, Dict, Discrete, Sequence, Text
from ludus.wrappers import FrameStackObservation
from tests.wrappers.script_env import ScriptEnv


def numbers(stack: Any) -> list[int]:
    return [int(frame) for frame in stack[:, 0]]


@pytest.mark.parametrize(
    ("padding", "first"), [("reset", [5, 5, 5]), ("zero", [0, 0, 5]), (np.float32([7]), [7, 7, 5])]
)
def test_newest_last_and_padding_before(padding: Any, first: list[int]) -> None:
    inner = ScriptEnv([np.float32([i + 5]) for i in range(6)])
    env = FrameStackObservation(inner, 3, padding_type=padding)
    assert env.observation_space == Box(-100, 100, (3, 1), np.float32)
    assert numbers(env.reset()[0]) == first
    assert numbers(env.step(0)[0]) == [*first[1:], 6]
    env.step(0)
    assert numbers(env.step(0)[0]) == [6, 7, 8]
    assert numbers(env.reset()[0]) == first


def test_stacks_do_not_share_memory() -> None:
    env = FrameStackObservation(ScriptEnv(), 2)
    first = env.reset()[0]
    first[:] = 50
    second = env.step(0)[0]
    assert numbers(second) == [0, 1]
    assert not np.shares_memory(first, second)


def test_parts_of_other_spaces_do_not_share_memory_either() -> None:
    space = Sequence(Box(0, 9, (1,)))
    inner = ScriptEnv([(np.float32([i]),) for i in range(6)], space=space)
    env = FrameStackObservation(inner, 2)
    stack = env.reset()[0]
    stack[1][0][:] = 9
    assert float(env.step(0)[0][0][0][0]) == 0


def test_structured_observations() -> None:
    space = Dict(n=Discrete(9), t=Text(3))
    inner = ScriptEnv([{"n": np.int64(i), "t": "ab"} for i in range(6)], space=space)
    env = FrameStackObservation(inner, np.int64(2))  # type: ignore[arg-type]
    observation = env.reset()[0]
    assert observation["n"].tolist() == [0, 0]
    assert observation["t"] == ("ab", "ab")
    assert observation in env.observation_space


@pytest.mark.parametrize(
    ("size", "padding", "error"),
    [
        (0, "reset", ValueError),
        (1.5, "reset", TypeError),
        (2, "zeros", ValueError),
        (2, np.zeros(3), ValueError),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Casting input")
def test_bad_arguments(size: Any, padding: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"stack_size|padding_type"):
        FrameStackObservation(ScriptEnv(), size, padding_type=padding)
