"""The walker's numbers and formulas, over plain numbers: run as they are, or compiled."""

from __future__ import annotations

from ludus.envs.box2d.bipedal_terrain import LENGTH, SCALE, STEP

__all__ = [
    "EFFORT",
    "FINISH",
    "FIRST_PUSH",
    "FPS",
    "HIP",
    "KNEE",
    "SPEEDS",
    "VIEW_HEIGHT",
    "VIEW_WIDTH",
    "shaping",
]

FPS = 50
VIEW_WIDTH, VIEW_HEIGHT = 600, 400
HIP, KNEE = 4, 6
SPEEDS = (HIP, KNEE, HIP, KNEE)
EFFORT = 0.00035 * 80
FIRST_PUSH = 5
FINISH = (LENGTH - 10) * STEP


def shaping(x: float, angle: float) -> float:
    """Return how good the walker's situation is."""
    return 130 * x / SCALE - 5.0 * abs(angle)
