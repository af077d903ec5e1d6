"""Windows for Atari games: a check for the emulator's own, and one of pygame."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from ludus import logger
from ludus.envs.screen import Screen

__all__ = ["Window", "warn_without_display"]

_ZOOM = 3


def warn_without_display() -> None:
    """Warn if there is no display for the emulator's window."""
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    shown = shown or os.environ.get("SDL_VIDEODRIVER")
    if sys.platform.startswith("linux") and not shown:
        logger.warn(
            "Found no display, so render_mode='human' shows nothing. Set DISPLAY, or use "
            "render_mode='rgb_array'."
        )


class Window:
    """Shows frames of an emulator that was built without a window.

    Classic Gym chooses the mode with each call of ``render``, long after the emulator was built.
    """

    def __init__(self, fps: int) -> None:
        self._fps = fps
        self._screen: Screen | None = None

    def show(self, frame: np.ndarray[Any, Any]) -> None:
        """Present a frame of shape ``(height, width, 3)``, enlarged.

        Raises:
            DependencyNotInstalled: pygame is not installed.
            Error: There is no display.
        """
        if self._screen is None:
            height, width, _ = frame.shape
            self._screen = Screen(width * _ZOOM, height * _ZOOM, "human", self._fps)
        import pygame

        small = pygame.surfarray.make_surface(frame.swapaxes(0, 1))
        self._screen.show_upright(pygame.transform.scale_by(small, _ZOOM))

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None
