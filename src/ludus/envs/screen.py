"""Presents an environment's drawing as an array or in a window."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ludus import logger
from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled, Error

__all__ = [
    "Screen",
    "fill_polygon",
    "import_pygame",
    "pixels_of",
    "show_text",
    "warn_no_render_mode",
]

_DRIVER = "SDL_VIDEODRIVER"
_HEADLESS = (
    "Use render_mode='rgb_array' for pictures as arrays, set DISPLAY to a running X server, or "
    f"{_DRIVER}=dummy to draw for nobody."
)


def import_pygame() -> Any:
    """Import pygame.

    Raises:
        DependencyNotInstalled: It is missing; the message says what to install.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
        import pygame.gfxdraw
    except ImportError as problem:
        raise DependencyNotInstalled(
            "Rendering needs pygame, which is not installed; run "
            f"`{pip_install('classic-control')}`"
        ) from problem
    return pygame


_filling = threading.Lock()


def _renew_lock() -> None:
    """Replace the lock in a forked process, because another thread may have held it."""
    global _filling
    _filling = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def fill_polygon(canvas: Any, corners: Any, color: Any) -> None:
    """Fill a polygon; under a lock, because pygame's function is not thread-safe."""
    fill = sys.modules["pygame.gfxdraw"].filled_polygon
    with _filling:
        fill(canvas, corners, color)


def pixels_of(surface: Any) -> np.ndarray[Any, Any]:
    """Return a new ``(height, width, 3)`` array of uint8 with the colours of a surface.

    SDL converts the pixels, several times as fast as a strided copy by NumPy.
    """
    width, height = surface.get_size()
    pixels = np.empty((height, width, 3), np.uint8)
    import_pygame().image.frombuffer(pixels, (width, height), "RGB").blit(surface, (0, 0))
    return pixels


class Screen:
    """A canvas with the origin at the bottom left, presented according to ``render_mode``.

    Usage: draw on :meth:`canvas`, then :meth:`show` returns an ``(height, width, 3)`` array of
    uint8, or ``None`` after presenting the picture in a window at ``fps`` frames per second.
    """

    def __init__(self, width: int, height: int, render_mode: str, fps: int) -> None:
        self._pygame = import_pygame()
        self._size = (width, height)
        self._human = render_mode == "human"
        self._fps = fps
        self._window: Any = None
        self._clock: Any = None
        # The surface has 24 bits per pixel and uses the memory of this array, so that reading a
        # frame is one copy. Surfaces of 32 bits would have to be converted pixel by pixel.
        self._pixels = np.empty((height, width, 3), np.uint8)
        self._canvas = self._pygame.image.frombuffer(self._pixels, self._size, "RGB")

    def __reduce__(self) -> Any:
        # A window belongs to the process and the environment that opened it.
        mode = "human" if self._human else "rgb_array"
        return type(self), (*self._size, mode, self._fps)

    def canvas(self) -> Any:
        """Return the surface to draw on, filled with white; it is the same one every time."""
        self._pixels.fill(255)
        return self._canvas

    def show(self, canvas: Any) -> np.ndarray[Any, Any] | None:
        """Present the canvas, or return a copy of it as an array."""
        if not self._human:
            return self._read(canvas)[::-1].copy()
        self._present(self._pygame.transform.flip(canvas, False, True))
        return None

    def show_upright(self, canvas: Any) -> np.ndarray[Any, Any] | None:
        """Present the canvas like :meth:`show`, with the origin at the top left."""
        if not self._human:
            return self._read(canvas).copy()
        self._present(canvas)
        return None

    def _read(self, canvas: Any) -> np.ndarray[Any, Any]:
        """Return the pixels of a surface; those of the canvas change with the next frame."""
        return self._pixels if canvas is self._canvas else pixels_of(canvas)

    def _present(self, canvas: Any) -> None:
        # pygame has one window per process, so another environment may have closed it.
        if self._window is None or self._pygame.display.get_surface() is None:
            self._window = self._opened()
            self._clock = self._pygame.time.Clock()
        self._window.blit(canvas, (0, 0))
        self._pygame.event.pump()
        self._clock.tick(self._fps)
        self._pygame.display.flip()

    def _opened(self) -> Any:
        """Return a new window.

        Raises:
            Error: There is no display to open it on.
        """
        try:
            self._pygame.display.init()
            window = self._pygame.display.set_mode(self._size)
        except self._pygame.error as problem:
            text = f"Found no display for render_mode='human' ({problem}). {_HEADLESS}"
            raise Error(text) from problem
        # Without a display, SDL silently draws to a dummy device.
        if self._pygame.display.get_driver() == "offscreen" and not os.environ.get(_DRIVER):
            logger.warn(f"Found no display, so render_mode='human' shows nothing. {_HEADLESS}")
        return window

    def close(self) -> None:
        """Close the window."""
        if self._window is not None:
            self._pygame.display.quit()
            self._window = None


def warn_no_render_mode(env: Any) -> None:
    """Warn that ``render`` does nothing without a render mode."""
    name = env.spec.id if env.spec is not None else "..."
    logger.warn(
        "render() was called without specifying any render mode, so nothing is shown. Choose one "
        f'when the environment is built: make("{name}", render_mode="rgb_array").',
        stacklevel=3,
    )


def show_text(env: Any, write: Callable[[], str | None]) -> str | None:
    """Return the text of ``write`` in the mode ``ansi``; print it in the mode ``human``.

    Without a render mode the user is warned.
    """
    if env.render_mode is None:
        warn_no_render_mode(env)
        return None
    text = write()
    if text is None or env.render_mode == "ansi":
        return text
    sys.stdout.write(text)
    return None
