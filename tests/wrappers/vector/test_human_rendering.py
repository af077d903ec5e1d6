from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.wrappers.vector import HumanRendering
from tests.wrappers.vector.support import twins

pytest.importorskip("pygame")
pytest.importorskip("cv2")


@pytest.fixture(autouse=True)
def _no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def shown(num_envs: int = 3, **kwargs: Any) -> Any:
    inner = twins(render_mode="rgb_array", num_envs=num_envs)
    inner.metadata["render_fps"] = 100_000
    return HumanRendering(inner, **kwargs)


def test_window_lifetime() -> None:
    envs = shown()
    assert envs.window is None
    assert envs.render_mode == "human"
    assert "human" in envs.metadata["render_modes"]
    assert "human" not in envs.unwrapped.metadata["render_modes"]
    envs.reset(seed=0)
    assert envs.window.get_size() == (20, 16)
    envs.step(np.zeros(3, np.int64))
    envs.close()
    assert envs.window is None
    assert envs.closed
    envs.close()


@pytest.mark.parametrize(
    ("num_envs", "screen", "grid", "cell"),
    [
        (1, None, (1, 1), (20, 16)),
        (3, None, (2, 2), (10, 8)),
        (3, (60, 16), (1, 3), (20, 16)),
        (2, (20, 32), (2, 1), (20, 16)),
        (5, (33, 90), (4, 2), (16, 13)),
    ],
)
def test_grid(num_envs: int, screen: Any, grid: Any, cell: Any) -> None:
    envs = shown(num_envs, screen_size=screen)
    envs.reset(seed=0)
    assert (envs.num_rows, envs.num_cols) == grid
    assert envs.scaled_subenv_size == cell
    envs.close()


def test_frames_are_placed_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = shown(screen_size=(40, 32))
    frames = tuple(np.full((16, 20, 3), 50 * i + 50, np.uint8) for i in range(3))
    monkeypatch.setattr(envs.env, "render", lambda: frames)
    picture = envs._picture()
    assert picture.shape == (40, 32, 3)
    corners = [picture[x, y, 0] for y in (0, 31) for x in (0, 39)]
    assert corners == [50, 100, 150, 0]


def test_lists_of_frames_show_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = shown(1)
    frames = [np.full((16, 20, 3), shade, np.uint8) for shade in (1, 2)]
    monkeypatch.setattr(envs.env, "render", lambda: (frames,))
    assert (envs._picture() == 2).all()


@pytest.mark.parametrize("frames", [None, ("text",) * 3, (np.zeros((4, 4, 3), np.uint8),)])
def test_other_frames_are_refused(frames: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    envs = shown()
    monkeypatch.setattr(envs.env, "render", lambda: frames)
    with pytest.raises(TypeError, match="3 numpy arrays"):
        envs.reset(seed=0)


def test_environments_that_cannot_be_shown() -> None:
    with pytest.raises(ValueError, match="render_mode"):
        HumanRendering(twins(render_mode="ansi"))
    inner = twins(render_mode="rgb_array")
    del inner.metadata["render_fps"]
    with pytest.raises(ValueError, match="render_fps"):
        HumanRendering(inner)
