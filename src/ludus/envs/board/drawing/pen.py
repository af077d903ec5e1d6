"""A surface that is drawn at twice its size and scaled down for anti-aliasing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.envs.screen import import_pygame
from ludus.envs.view import label

__all__ = ["Color", "Pen", "Point"]

Color = tuple[int, int, int]
Point = tuple[float, float]

_SCALE = 2


class Pen:
    """Draws shapes in pixels of the finished picture; the origin is at the top left.

    Raises:
        DependencyNotInstalled: pygame is not installed.
    """

    def __init__(self, width: int, height: int, background: Color) -> None:
        self._pygame = import_pygame()
        self._size = (width, height)
        self._surface: Any = self._pygame.Surface((width * _SCALE, height * _SCALE))
        self._surface.fill(background)
        self._words: list[tuple[str, Point, int, Color]] = []

    def circle(self, center: Point, radius: float, color: Color, edge: Color | None = None) -> None:
        """Draw a disc, with a thin edge if a colour is given for it."""
        self._pygame.draw.circle(self._surface, color, _scaled(center), radius * _SCALE)
        if edge is not None:
            self._pygame.draw.circle(self._surface, edge, _scaled(center), radius * _SCALE, _SCALE)

    def ring(self, center: Point, radius: float, color: Color, width: int = 2) -> None:
        """Draw a circle."""
        self._pygame.draw.circle(
            self._surface, color, _scaled(center), radius * _SCALE, width * _SCALE
        )

    def polygon(self, points: Iterable[Point], color: Color, edge: Color | None = None) -> None:
        """Fill a polygon, with a thin edge if a colour is given for it."""
        corners = [_scaled(point) for point in points]
        self._pygame.draw.polygon(self._surface, color, corners)
        if edge is not None:
            self._pygame.draw.polygon(self._surface, edge, corners, _SCALE)

    def rectangle(self, corner: Point, size: Point, color: Color) -> None:
        """Fill a rectangle."""
        self._surface.fill(color, (*_scaled(corner), *_scaled(size)))

    def line(self, start: Point, end: Point, color: Color, width: int = 1) -> None:
        """Draw a straight line."""
        self._pygame.draw.line(self._surface, color, _scaled(start), _scaled(end), width * _SCALE)

    def write(self, text: str, center: Point, size: int, color: Color) -> None:
        """Write a word, over everything else."""
        self._words.append((text, center, size, color))

    def picture(self) -> NDArray[np.uint8]:
        """Return the drawing as an array of shape (height, width, 3)."""
        canvas = self._pygame.transform.smoothscale(self._surface, self._size)
        for word in self._words:
            label(canvas, *word)
        pixels = self._pygame.surfarray.array3d(canvas)
        return np.ascontiguousarray(np.transpose(pixels, (1, 0, 2)))


def _scaled(point: Sequence[float]) -> tuple[int, int]:
    return round(point[0] * _SCALE), round(point[1] * _SCALE)
