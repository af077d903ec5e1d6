"""Draws two links hanging from a bar, and the height their tip has to reach."""

from __future__ import annotations

import math
from typing import Any

from ludus.envs.screen import fill_polygon, import_pygame

__all__ = ["draw"]

LINKS, JOINT, TIP = ((52, 73, 94), (210, 150, 90)), (40, 40, 48), (204, 92, 77)
GOAL, FRAME = (70, 140, 90), (200, 200, 206)
DASH = 12
MARGIN = 0.2


def draw(canvas: Any, angles: tuple[float, float], lengths: tuple[float, float]) -> None:
    """Draw links of these lengths; the first angle is from straight down, the second from it."""
    pygame = import_pygame()
    size = canvas.get_width()
    scale = size / (2 * (sum(lengths) + MARGIN))
    middle = size / 2
    half = 0.08 * scale

    goal = round(middle + scale)
    pygame.draw.line(canvas, FRAME, (0, middle), (size, middle), 1)
    for x in range(0, size, 2 * DASH):
        pygame.draw.line(canvas, GOAL, (x, goal), (x + DASH, goal), 2)

    x, y, angle = middle, middle, 0.0
    for bend, length, color in zip(angles, lengths, LINKS, strict=True):
        angle += bend
        end_x = x + length * scale * math.sin(angle)
        end_y = y - length * scale * math.cos(angle)
        across = half * math.cos(angle), half * math.sin(angle)
        corners = [
            (x + across[0], y + across[1]),
            (end_x + across[0], end_y + across[1]),
            (end_x - across[0], end_y - across[1]),
            (x - across[0], y - across[1]),
        ]
        fill_polygon(canvas, corners, color)
        pygame.gfxdraw.aapolygon(canvas, corners, color)
        for place in ((x, y), (end_x, end_y)):
            _draw_disc(canvas, pygame, place, half, color)
        _draw_disc(canvas, pygame, (x, y), half / 2, JOINT)
        x, y = end_x, end_y
    _draw_disc(canvas, pygame, (x, y), half / 2, TIP)


def _draw_disc(
    canvas: Any,
    pygame: Any,
    place: tuple[float, float],
    radius: float,
    color: tuple[int, int, int],
) -> None:
    x, y = round(place[0]), round(place[1])
    pygame.gfxdraw.filled_circle(canvas, x, y, round(radius), color)
    pygame.gfxdraw.aacircle(canvas, x, y, round(radius), color)
