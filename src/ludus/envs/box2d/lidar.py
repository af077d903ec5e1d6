"""Ten rays from the walker's hull to the ground.

A ray cast through the world calls back into Python for every shape on its way. The ground is known
here, so the shapes that a ray may hit are found by their places, and only those are asked, by the
engine's own arithmetic: the fractions are those that the world would report.
"""

from __future__ import annotations

import math
from typing import Any

from ludus.envs.box2d.bipedal_terrain import STEP, Terrain
from ludus.envs.box2d.engine import import_box2d

__all__ = ["RANGE", "Lidar"]

RANGE = 160 / 30.0
RAYS = 10
DIRECTIONS = [
    (math.sin(1.5 * i / 10.0) * RANGE, math.cos(1.5 * i / 10.0) * RANGE) for i in range(RAYS)
]
# Far more than the engine's single precision errs, and far less than any shape is wide.
MARGIN = 1e-3


class Lidar:
    """Casts the rays.

    Args:
        terrain: What the ground looks like.
        edges: The engine's shapes of its surface, from left to right.
        blocks: The engine's fixtures of its blocks, in the terrain's order.
    """

    def __init__(self, terrain: Terrain, edges: list[Any], blocks: list[Any]) -> None:
        box2d = import_box2d()
        self._heights = terrain.heights
        self._edges = edges
        self._blocks = [
            (min(x for x, _ in corners) - MARGIN, max(x for x, _ in corners) + MARGIN, fixture)
            for corners, fixture in zip(terrain.blocks, blocks, strict=True)
        ]
        self._input = box2d.b2RayCastInput()
        self._input.maxFraction = 1.0
        self._output = box2d.b2RayCastOutput()

    def cast(self, place: Any) -> list[float]:
        """Return how far each ray gets, as a fraction of its length."""
        x, y = place.x, place.y
        ray = self._input
        ray.p1 = place
        near = [block for block in self._blocks if block[0] <= x + RANGE and block[1] >= x]
        fractions = []
        for dx, dy in DIRECTIONS:
            ray.p2 = (x + dx, y - dy)
            nearest = self._surface(x, y, dx, dy)
            for left, _, fixture in near:
                if left <= x + dx:
                    nearest = min(nearest, self._ask(fixture))
            fractions.append(nearest)
        return fractions

    def _ask(self, fixture: Any) -> float:
        hit: bool = fixture.RayCast(self._output, self._input, 0)
        return float(self._output.fraction) if hit else 1.0

    def _surface(self, x: float, y: float, dx: float, dy: float) -> float:
        """Return the fraction at which a ray meets the surface.

        Along a ray that is not upright the first piece that is hit is the nearest, but where two
        pieces join both may be hit, a rounding error apart.
        """
        heights, nearest = self._heights, 1.0
        first = max(math.floor((x - MARGIN) / STEP), 0)
        last = min(math.floor((x + dx + MARGIN) / STEP), len(heights) - 2)
        if dx < MARGIN:
            return min((self._ask(self._edges[k]) for k in range(first, last + 1)), default=1.0)
        fall = dy / dx
        # Height of the ray above the left end of a piece, then above its right end.
        above = y - (first * STEP - x) * fall - heights[first] if first <= last else 0.0
        for k in range(first, last + 1):
            before, above = above, y - ((k + 1) * STEP - x) * fall - heights[k + 1]
            if min(before, above) < MARGIN and max(before, above) > -MARGIN:
                nearest = min(nearest, self._ask(self._edges[k]))
            elif nearest < 1.0:
                break
        return nearest
