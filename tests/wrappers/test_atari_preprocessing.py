from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.errors import DependencyNotInstalled
from ludus.spaces import Box
from ludus.wrappers import AtariPreprocessing
from tests.wrappers.cases import atari
from tests.wrappers.script_env import ScriptEnv


def game(**arguments: Any) -> Any:
    space = Box(0, 255, (12, 10, 3), np.uint8)
    env = ScriptEnv([np.zeros((12, 10, 3), np.uint8)] * 60, space=space, **arguments)
    type(env).steps = property(lambda self: self.position)  # type: ignore[attr-defined]
    return atari(ludus, env)


def test_frames_are_skipped_and_rewards_added() -> None:
    inner = game()
    env = AtariPreprocessing(inner, noop_max=0, screen_size=8)
    observation, _ = env.reset()
    assert observation.shape == env.observation_space.shape == (8, 8)
    assert env.step(1)[1] == 4.0
    assert inner.actions == [1] * 4


def test_last_two_screens_are_pooled() -> None:
    inner = game()
    env = AtariPreprocessing(inner, noop_max=0, screen_size=(10, 12), frame_skip=3)
    env.reset()
    observation = env.step(0)[0]
    screens = []
    for position in (2, 3):
        inner.position = position
        screens.append(inner.ale._screen()[..., 0])
    assert (observation == np.maximum(*screens)).all()


def test_no_ops_come_first() -> None:
    inner = game()
    env = AtariPreprocessing(inner, noop_max=5, screen_size=4)
    env.reset(seed=0)
    assert 1 <= len(inner.actions) <= 5
    assert set(inner.actions) == {0}


def test_losing_a_life_ends_the_episode() -> None:
    env = AtariPreprocessing(game(), noop_max=0, terminal_on_life_loss=True, screen_size=4)
    env.reset()
    assert env.lives == 3
    assert [env.step(0)[2] for _ in range(3)] == [False, False, True]
    assert env.game_over


@pytest.mark.parametrize(
    ("arguments", "shape", "dtype"),
    [
        ({"grayscale_obs": False}, (5, 5, 3), np.uint8),
        ({"grayscale_newaxis": True}, (5, 5, 1), np.uint8),
        ({"scale_obs": True}, (5, 5), np.float32),
    ],
)
def test_forms_of_the_observation(arguments: dict[str, bool], shape: Any, dtype: Any) -> None:
    env = AtariPreprocessing(game(), screen_size=5, **arguments)  # type: ignore[arg-type]
    observation = env.reset(seed=1)[0]
    assert observation.shape == shape
    assert observation.dtype == dtype
    assert observation in env.observation_space


@pytest.mark.parametrize(
    "arguments", [{"frame_skip": 0}, {"screen_size": -1}, {"screen_size": (1, 0)}, {"noop_max": -1}]
)
def test_bad_numbers(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        AtariPreprocessing(game(), **arguments)


def test_game_that_skips_frames_itself() -> None:
    inner = game()
    inner._frameskip = 4
    with pytest.raises(ValueError, match="disable frame-skipping"):
        AtariPreprocessing(inner)
    inner._frameskip = 1
    inner.get_action_meanings = lambda: ["FIRE"]
    with pytest.raises(ValueError, match="NOOP"):
        AtariPreprocessing(inner)


def test_missing_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[images\]"):
        AtariPreprocessing(game())
