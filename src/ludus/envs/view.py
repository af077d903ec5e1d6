"""Presents a small game as text, as an array, or in a window."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ludus.envs.screen import Screen, import_pygame, warn_no_render_mode

__all__ = ["View", "label"]


class View:
    """Implements ``render`` for each mode, and owns the window.

    Pictures are drawn with the origin at the top left.
    """

    def __init__(self, width: int, height: int) -> None:
        self.size = (width, height)
        self._screen: Screen | None = None

    def render(
        self,
        env: Any,
        draw: Callable[[Any], None],
        text: Callable[[], str] | None = None,
    ) -> np.ndarray[Any, Any] | str | None:
        """Return text for ``ansi``, an array for ``rgb_array``, ``None`` for ``human``.

        Without a render mode the user is warned; before the first reset nothing is shown.
        """
        if env.render_mode is None:
            warn_no_render_mode(env)
            return None
        if env.state is None:
            return None
        if text is not None and env.render_mode == "ansi":
            return text()
        if self._screen is None:
            self._screen = Screen(*self.size, env.render_mode, env.metadata["render_fps"])
        canvas = self._screen.canvas()
        draw(canvas)
        return self._screen.show_upright(canvas)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None


def label(
    canvas: Any,
    text: str,
    center: tuple[float, float],
    size: int,
    color: tuple[int, int, int],
) -> None:
    """Write ``text`` centred at ``center`` in letters ``size`` pixels high."""
    written = _written(text, size, color)
    place = written.get_rect(center=center)
    # Text is blended on a surface of 32 bits per pixel, which SDL does more exactly than on 24.
    patch = import_pygame().Surface(place.size, 0, 32)
    patch.blit(canvas, (0, 0), place)
    patch.blit(written, (0, 0))
    canvas.blit(patch, place)


@lru_cache(maxsize=256)
def _written(text: str, size: int, color: tuple[int, int, int]) -> Any:
    """Return the text as a transparent surface, which must not be changed."""
    # Caches surfaces instead of fonts, which pygame.quit() would invalidate.
    font = import_pygame().font
    font.init()
    return font.Font(None, size).render(text, True, color)
