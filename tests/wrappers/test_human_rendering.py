from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np
import pytest

from ludus.errors import DependencyNotInstalled
from ludus.wrappers import HumanRendering, RenderCollection
from tests.wrappers.script_env import ScriptEnv


def pixels_on_screen(env: HumanRendering[Any, Any]) -> Any:
    import pygame

    return pygame.surfarray.array3d(env.window)


def test_window_shows_the_latest_frame() -> None:
    env = HumanRendering(ScriptEnv(render_mode="rgb_array"))
    assert env.render_mode == "human"
    env.reset()
    env.step(0)
    env.step(0)
    shown = pixels_on_screen(env)
    assert shown.shape == (6, 4, 3)
    assert (shown == 2).all()
    assert env.render() is None
    env.close()
    env.close()
    assert env.window is None
    assert env.unwrapped.closed == 2  # type: ignore[attr-defined]


def test_window_opens_again_after_close() -> None:
    env = HumanRendering(ScriptEnv(render_mode="rgb_array"))
    env.reset()
    env.close()
    env.reset()
    assert (pixels_on_screen(env) == 0).all()
    env.close()


def test_collected_frames_are_drained() -> None:
    inner = RenderCollection(ScriptEnv(render_mode="rgb_array"))
    env = HumanRendering(inner)
    env.reset()
    env.step(0)
    assert (pixels_on_screen(env) == 1).all()
    assert inner.render() == []
    env.close()


def test_depth_is_shown_in_gray() -> None:
    class Depth(ScriptEnv):
        metadata: ClassVar[dict[str, Any]] = {"render_modes": ["depth_array"], "render_fps": 100}

        def render(self) -> Any:
            return np.linspace(2.0, 7.0, 24, dtype=np.float32).reshape(4, 6)

    env = HumanRendering(Depth(render_mode="depth_array"))
    env.reset()
    shown = pixels_on_screen(env)
    assert (shown[0, 0] == 0).all()
    assert (shown[5, 3] == 255).all()
    env.close()


def test_human_is_added_to_the_modes_outside_only() -> None:
    class NoHuman(ScriptEnv):
        metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 100}

    inner = NoHuman(render_mode="rgb_array")
    assert HumanRendering(inner).metadata["render_modes"] == ["rgb_array", "human"]
    assert inner.metadata["render_modes"] == ["rgb_array"]


def test_frame_of_another_size_or_type() -> None:
    class Growing(ScriptEnv):
        def render(self) -> Any:
            return np.zeros((4 + self.position, 6, 3), np.uint8)

    env = HumanRendering(Growing(render_mode="rgb_array"))
    env.reset()
    with pytest.raises(ValueError, match="has changed from"):
        env.step(0)
    env.close()

    class Nothing(ScriptEnv):
        def render(self) -> Any:
            return None

    with pytest.raises(TypeError, match="numpy array"):
        HumanRendering(Nothing(render_mode="rgb_array")).reset()


@pytest.mark.parametrize("mode", [None, "ansi", "human"])
def test_bad_mode(mode: str | None) -> None:
    with pytest.raises(ValueError, match=r"env\.render_mode"):
        HumanRendering(ScriptEnv(render_mode=mode))


def test_missing_fps() -> None:
    class NoFps(ScriptEnv):
        metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"]}

    with pytest.raises(ValueError, match="render_fps"):
        HumanRendering(NoFps(render_mode="rgb_array"))


def test_missing_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[classic-control\]"):
        HumanRendering(ScriptEnv(render_mode="rgb_array")).reset()
