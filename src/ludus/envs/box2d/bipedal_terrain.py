"""The ground of BipedalWalker: grass, and in the hard variant stumps, stairs and pits.

Written over arrays and numbers, to be run as it is or compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ludus.kernel.random import integers, random, uniform

__all__ = ["HEIGHT", "LENGTH", "MOST_BLOCKS", "SCALE", "START", "STEP", "Terrain", "make_terrain"]

SCALE = 30.0
STEP = 14 / SCALE
LENGTH, START = 200, 20
HEIGHT = 400 / SCALE / 4
SHORTEST, LONGEST = 5, 10
GRASS, STUMP, STAIRS, PIT = range(4)
MOST_BLOCKS = 80
"""More than fit: no obstacle has more than one block for every three steps that it takes."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Terrain:
    """Heights at every :data:`STEP`, and the solid blocks, in the order they are built."""

    heights: list[float]
    blocks: list[list[Point]]

    @classmethod
    def draw(cls, rng: Any, hardcore: bool) -> Terrain:
        """Draw the ground from a generator."""
        heights = [0.0] * LENGTH
        blocks = [[0.0] * 8 for _ in range(MOST_BLOCKS if hardcore else 0)]
        count = make_terrain(rng, hardcore, heights, blocks)
        corners = [list(zip(block[::2], block[1::2], strict=True)) for block in blocks[:count]]
        return cls(heights, corners)

    def edges(self) -> Iterator[tuple[Point, Point]]:
        """Yield the surface piece by piece."""
        for i in range(LENGTH - 1):
            yield (i * STEP, self.heights[i]), ((i + 1) * STEP, self.heights[i + 1])


def make_terrain(rng: Any, hardcore: bool, heights: Any, blocks: Any) -> int:
    """Draw the ground; each stretch after the first ends where its counter does.

    The first step of a stretch (``fresh``) builds what stands on it, and never changes the height.

    Args:
        rng: What is drawn from.
        hardcore: Whether there are obstacles.
        heights: Filled with the height at every :data:`STEP`.
        blocks: Filled with the corners of the solid blocks, in the order they are built.

    Returns:
        The number of blocks.
    """
    kind, fresh, counter = GRASS, False, START
    slope, y, base = 0.0, HEIGHT, 0.0
    up, wide, steps, count = 0, 0, 0, 0
    for i in range(LENGTH):
        x = i * STEP
        if kind == GRASS and not fresh:
            slope = 0.8 * slope + 0.01 * ((1 if y < HEIGHT else 0) - (1 if y > HEIGHT else 0))
            if i > START:
                slope += uniform(rng, -1, 1) / SCALE
            y += slope
        elif kind == PIT and fresh:
            counter = integers(rng, 3, 5)
            for shift in (0.0, STEP * counter):
                _fill(blocks[count], x + shift, x + STEP + shift, y, y - 4 * STEP)
                count += 1
            counter += 2
            base = y
        elif kind == PIT:
            y = base - 4 * STEP if counter > 1 else base
        elif kind == STUMP and fresh:
            counter = integers(rng, 1, 3)
            _fill(blocks[count], x, x + counter * STEP, y, y + counter * STEP)
            count += 1
        elif kind == STAIRS and fresh:
            up = 1 if random(rng) > 0.5 else -1
            wide = integers(rng, 4, 5)
            steps = integers(rng, 3, 5)
            base, counter = y, steps * wide
            for s in range(steps):
                left, right = x + (s * wide) * STEP, x + ((1 + s) * wide) * STEP
                _fill(blocks[count], left, right, y + (s * up) * STEP, y + (-1 + s * up) * STEP)
                count += 1
        elif kind == STAIRS:
            done = (steps * wide - counter - up) / wide
            y = base + (done * up) * STEP
        heights[i] = y
        fresh = False
        counter -= 1
        if counter == 0:
            counter, fresh = integers(rng, SHORTEST, LONGEST), True
            kind = integers(rng, STUMP, PIT + 1) if kind == GRASS and hardcore else GRASS
    return count


def _fill(block: Any, left: float, right: float, first: float, second: float) -> None:
    """Set the corners, along the first height and back along the second."""
    block[0], block[1] = left, first
    block[2], block[3] = right, first
    block[4], block[5] = right, second
    block[6], block[7] = left, second
