"""Draws a pendulum and the torque on it."""

from __future__ import annotations

import math
from typing import Any

from ludus.envs.screen import fill_polygon, import_pygame

__all__ = ["draw"]

ROD, AXLE, TORQUE = (204, 92, 77), (40, 40, 48), (70, 110, 190)
VIEW = 2.2
"""Half of the visible width in rod lengths."""


def draw(canvas: Any, theta: float, torque: float | None, max_torque: float) -> None:
    """Draw the rod at ``theta`` radians from upright, and the torque as an arc round the axle."""
    pygame = import_pygame()
    gfx = pygame.gfxdraw
    size = canvas.get_width()
    scale = size / (2 * VIEW)
    middle = size // 2
    half = 0.1 * scale
    angle = theta + math.pi / 2
    rod = []
    for corner in ((0, -half), (0, half), (scale, half), (scale, -half)):
        turned = pygame.math.Vector2(corner).rotate_rad(angle)
        rod.append((turned.x + middle, turned.y + middle))
    tip = pygame.math.Vector2(scale, 0).rotate_rad(angle)
    fill_polygon(canvas, rod, ROD)
    gfx.aapolygon(canvas, rod, ROD)
    for x, y in ((middle, middle), (int(tip.x + middle), int(tip.y + middle))):
        gfx.filled_circle(canvas, x, y, int(half), ROD)
        gfx.aacircle(canvas, x, y, int(half), ROD)
    if torque:
        _draw_torque(canvas, pygame, middle, scale, torque / max_torque)
    gfx.filled_circle(canvas, middle, middle, int(0.05 * scale), AXLE)
    gfx.aacircle(canvas, middle, middle, int(0.05 * scale), AXLE)


def _draw_torque(canvas: Any, pygame: Any, middle: int, scale: float, share: float) -> None:
    radius = 0.35 * scale
    sweep = share * math.pi * 0.9
    points = [
        (middle + radius * math.cos(t), middle + radius * math.sin(t))
        for t in (math.pi / 2 + sweep * i / 24 for i in range(25))
    ]
    pygame.draw.lines(canvas, TORQUE, False, points, 3)
    pygame.draw.circle(canvas, TORQUE, points[-1], 6)
