"""The picture of a walker, the ground around it and the clouds above."""

from __future__ import annotations

import math
from typing import Any

from ludus.envs.box2d.bipedal_terrain import HEIGHT, LENGTH, STEP, Terrain
from ludus.envs.box2d.lidar import DIRECTIONS
from ludus.envs.screen import import_pygame

__all__ = ["CLOUD_DRAWS", "draw"]

CLOUDS, CORNERS = LENGTH // 20, 5
CLOUD_DRAWS = CLOUDS * (1 + 2 * CORNERS)
SKY, CLOUD, SOIL, GRASS = (210, 218, 250), (250, 250, 255), (116, 146, 84), (70, 170, 70)
STONE, RAY, POLE, FLAG = (150, 150, 156), (230, 80, 70), (40, 40, 48), (226, 84, 40)
HULL, LEFT, RIGHT, OUTLINE = (132, 82, 200), (176, 104, 152), (128, 66, 110), (70, 50, 90)
LAG = 0.5


def draw(
    canvas: Any,
    scale: float,
    ground: Terrain,
    bodies: list[Any],
    lidar: list[float],
    clouds: Any,
) -> None:
    """Draw the part of the world around the hull, which is the last of the bodies."""
    pygame = import_pygame()
    x, y = bodies[-1].position
    scroll = x - canvas.get_width() / scale / 5

    def place(points: Any, lag: float = 1.0) -> list[tuple[float, float]]:
        return [((px - scroll * lag) * scale, py * scale) for px, py in points]

    canvas.fill(SKY)
    for shape in _cloud_shapes(clouds, canvas.get_height() / scale * 3 / 4):
        pygame.draw.polygon(canvas, CLOUD, place(shape, LAG))
    for (x1, y1), (x2, y2) in ground.edges():
        if x2 >= scroll and x1 <= scroll + canvas.get_width() / scale:
            pygame.draw.polygon(canvas, SOIL, place([(x1, y1), (x2, y2), (x2, 0), (x1, 0)]))
            pygame.draw.aaline(canvas, GRASS, *place([(x1, y1), (x2, y2)]))
    for corners in ground.blocks:
        pygame.draw.polygon(canvas, STONE, place(corners))
    for (dx, dy), fraction in zip(DIRECTIONS, lidar, strict=True):
        ends = [(x, y), (x + dx * fraction, y - dy * fraction)]
        pygame.draw.aaline(canvas, RAY, *place(ends))
    for body, color in zip(bodies, (LEFT, LEFT, RIGHT, RIGHT, HULL), strict=True):
        for fixture in body.fixtures:
            corners = place(body.transform * corner for corner in fixture.shape.vertices)
            pygame.draw.polygon(canvas, color, corners)
            pygame.draw.aalines(canvas, OUTLINE, True, corners)
    (px, py), top = place([(3 * STEP, HEIGHT)])[0], HEIGHT * scale + 50
    pygame.draw.line(canvas, POLE, (px, py), (px, top))
    pygame.draw.polygon(canvas, FLAG, [(px, top), (px, top - 10), (px + 25, top - 5)])


def _cloud_shapes(draws: Any, height: float) -> list[list[tuple[float, float]]]:
    shapes = []
    for row in draws.reshape(CLOUDS, -1):
        left, jitter = row[0] * LENGTH * STEP, row[1:].reshape(CORNERS, 2) * 5 * STEP
        turns = [2 * math.pi * i / CORNERS for i in range(CORNERS)]
        shapes.append(
            [
                (left + 15 * STEP * math.sin(t) + jx, height + 5 * STEP * math.cos(t) + jy)
                for t, (jx, jy) in zip(turns, jitter, strict=True)
            ]
        )
    return shapes
