"""The lander's numbers and formulas, over plain numbers: run as they are, or compiled."""

from __future__ import annotations

import math

__all__ = [
    "CHUNKS",
    "FIRST_PUSH",
    "FPS",
    "HALF_WIDTH",
    "HEIGHT",
    "LEG_DOWN",
    "PAD_HEIGHT",
    "SCALE",
    "WIDTH",
    "WIND_RANGE",
    "WORLD_HEIGHT",
    "WORLD_WIDTH",
    "gust",
    "main_flame",
    "sense",
    "shaping",
    "side_flame",
    "smooth",
    "throttles",
]

FPS = 50
SCALE = 30.0
WIDTH, HEIGHT = 600, 400
CHUNKS = 11
WORLD_WIDTH, WORLD_HEIGHT = WIDTH / SCALE, HEIGHT / SCALE
HALF_WIDTH, HALF_HEIGHT = WORLD_WIDTH / 2, WORLD_HEIGHT / 2
PAD_HEIGHT = WORLD_HEIGHT / 4
LEG_DOWN = 18
REST_HEIGHT = PAD_HEIGHT + LEG_DOWN / SCALE

FIRST_PUSH = 1000.0
MAIN_POWER, SIDE_POWER = 13.0, 0.6
MAIN_DOWN, SIDE_AWAY = 4 / SCALE, 12
# The side engines push at one height when the lander is upright and at another when it lies.
SIDE_LYING, SIDE_UPRIGHT = 17, 14
WIND_RANGE = 9999


def throttles(continuous: bool, first: float, second: float) -> tuple[float, float, float]:
    """Return the power of the main engine and of a side engine, and which side that is.

    Without ``continuous`` the first number tells which engine fires.
    """
    if not continuous:
        side = 1.0 if first in (1, 3) else 0.0
        return 1.0 if first == 2 else 0.0, side, first - 2.0
    main = 0.0
    if first > 0.0:
        main = ((1.0 if first > 1.0 else first) + 1.0) * 0.5
    strength = abs(second)
    side = 0.0
    if strength > 0.5:
        side = 1.0 if strength > 1.0 else strength
    return main, side, math.copysign(1.0, second)


def main_flame(sine: float, cosine: float, first: float, second: float) -> tuple[float, float]:
    """Return where the main engine's flame goes, given two small random numbers."""
    down = MAIN_DOWN + 2 * first
    return sine * down - cosine * second, -cosine * down - sine * second


def side_flame(
    sine: float, cosine: float, first: float, second: float, direction: float
) -> tuple[float, float]:
    """Return where a side engine's flame goes, given two small random numbers."""
    away = 3 * second + direction * SIDE_AWAY / SCALE
    return sine * first - cosine * away, -cosine * first - sine * away


def gust(index: int) -> float:
    """Return a number from -1 to 1 that changes smoothly and never repeats."""
    return math.tanh(math.sin(0.02 * index) + math.sin(math.pi * 0.01 * index))


def smooth(before: float, here: float, after: float) -> float:
    """Return the height of the ridge between two neighbours."""
    return 0.33 * (before + here + after)


def sense(x: float, y: float, vx: float, vy: float) -> tuple[float, float, float, float]:
    """Return place and velocity as the lander observes them."""
    return (
        (x - HALF_WIDTH) / HALF_WIDTH,
        (y - REST_HEIGHT) / HALF_HEIGHT,
        vx * HALF_WIDTH / FPS,
        vy * HALF_HEIGHT / FPS,
    )


def shaping(
    x: float, y: float, vx: float, vy: float, angle: float, left: float, right: float
) -> float:
    """Return how good the lander's situation is."""
    return (
        -100 * math.sqrt(x * x + y * y)
        - 100 * math.sqrt(vx * vx + vy * vy)
        - 100 * abs(angle)
        + 10 * left
        + 10 * right
    )
