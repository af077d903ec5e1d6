"""Draws a car in a valley, with the flag it has to reach."""

from __future__ import annotations

import math
from typing import Any, Protocol

from ludus.envs.screen import fill_polygon, import_pygame

__all__ = ["draw"]

SKY, HILL, RIDGE = (236, 243, 250), (176, 196, 160), (84, 110, 76)
BODY, GLASS, WHEEL, HUB = (204, 92, 77), (214, 230, 240), (40, 40, 48), (190, 190, 198)
POLE, FLAG = (60, 60, 70), (240, 180, 60)
RADIUS, FLAG_HEIGHT = 7, 50
BODY_SHAPE = ((-21, 6), (-21, 15), (-12, 16), (-6, 24), (8, 24), (14, 16), (21, 14), (21, 6))
GLASS_SHAPE = ((-8, 16), (-4, 22), (6, 22), (10, 16))


class Valley(Protocol):
    """The fields of the kernel's params that the drawing uses."""

    @property
    def min_position(self) -> float: ...
    @property
    def max_position(self) -> float: ...
    @property
    def goal_position(self) -> float: ...


def height(position: float) -> float:
    """Return the height of the track, in the unit of positions."""
    return 0.45 * math.sin(3 * position) + 0.55


def draw(canvas: Any, position: float, valley: Valley) -> None:
    """Draw the valley, the flag and the car at ``position``, tilted as the track is there."""
    pygame = import_pygame()
    width = canvas.get_width()
    scale = width / (valley.max_position - valley.min_position)

    def point(x: float) -> tuple[float, float]:
        return (x - valley.min_position) * scale, height(x) * scale

    canvas.fill(SKY)
    ridge = [point(valley.min_position + pixel / scale) for pixel in range(0, width + 6, 6)]
    fill_polygon(canvas, [(0, 0), *ridge, (width, 0)], HILL)
    pygame.draw.lines(canvas, RIDGE, False, ridge, 3)
    _draw_flag(canvas, pygame, *point(valley.goal_position))
    _draw_car(canvas, pygame, point(position), math.atan(1.35 * math.cos(3 * position)))


def _draw_flag(canvas: Any, pygame: Any, x: float, y: float) -> None:
    top = y + FLAG_HEIGHT
    pygame.draw.line(canvas, POLE, (x, y), (x, top), 3)
    cloth = [(x + 1, top), (x + 1, top - 18), (x + 30, top - 9)]
    fill_polygon(canvas, cloth, FLAG)
    pygame.gfxdraw.aapolygon(canvas, cloth, FLAG)


def _draw_car(canvas: Any, pygame: Any, foot: tuple[float, float], tilt: float) -> None:
    def placed(x: float, y: float) -> tuple[float, float]:
        turned = pygame.math.Vector2(x, y).rotate_rad(tilt)
        return turned.x + foot[0], turned.y + foot[1]

    for shape, color in ((BODY_SHAPE, BODY), (GLASS_SHAPE, GLASS)):
        corners = [placed(*corner) for corner in shape]
        fill_polygon(canvas, corners, color)
        pygame.gfxdraw.aapolygon(canvas, corners, color)
    for offset in (-12, 12):
        x, y = (round(number) for number in placed(offset, RADIUS))
        for radius, color in ((RADIUS, WHEEL), (RADIUS // 2, HUB)):
            pygame.gfxdraw.filled_circle(canvas, x, y, radius, color)
            pygame.gfxdraw.aacircle(canvas, x, y, radius, color)
