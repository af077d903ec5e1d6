"""The picture of a lander above the moon, and the flames that exist in it only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ludus.envs.screen import import_pygame

__all__ = ["Exhaust", "draw"]

SKY, MOON, POLE, FLAG = (18, 18, 30), (222, 220, 214), (250, 250, 250), (222, 190, 50)
FILL, LINE = (140, 120, 220), (84, 80, 140)
POLE_HEIGHT = 50
LIFE, RADIUS = 7, 2
MAIN_SPARK, SIDE_SPARK = 0.049, 0.0098
"""Masses of the sparks of each engine. The lighter they are, the farther they fly from it."""


@dataclass(slots=True)
class Exhaust:
    """Sparks, each with place, speed and age; they fall, fade, and touch nothing."""

    sparks: list[list[float]] = field(default_factory=list)

    def add(
        self, place: tuple[float, float], push: tuple[float, float], mass: float, power: float
    ) -> None:
        """Add a spark that the impulse ``push`` drives away; with less power it lives shorter."""
        self.sparks.append([*place, push[0] / mass, push[1] / mass, LIFE * (1.0 - power)])

    def age(self, gravity: float, seconds: float) -> None:
        """Move every spark, and drop those that have burnt out."""
        for spark in self.sparks:
            spark[0] += spark[2] * seconds
            spark[1] += spark[3] * seconds
            spark[3] += gravity * seconds
            spark[4] += 1.0
        self.sparks = [spark for spark in self.sparks if spark[4] < LIFE]


def draw(
    canvas: Any,
    scale: float,
    ridge: list[tuple[float, float]],
    bodies: list[Any],
    flags: tuple[float, float, float],
    exhaust: Exhaust | None,
) -> None:
    """Draw the sparks, then the moon's ridge, which hides them, the two flags and the bodies."""
    pygame = import_pygame()
    canvas.fill(SKY)
    for x, y, _, _, age in () if exhaust is None else exhaust.sparks:
        heat = 1.0 - age / LIFE
        color = (round(80 + 175 * heat), round(60 + 110 * heat), 60)
        pygame.draw.circle(canvas, color, (x * scale, y * scale), RADIUS)
    line = [(x * scale, y * scale) for x, y in ridge]
    pygame.draw.polygon(canvas, MOON, [(line[0][0], 0), *line, (line[-1][0], 0)])
    left, right, foot = (length * scale for length in flags)
    for x in (left, right):
        top = foot + POLE_HEIGHT
        pygame.draw.line(canvas, POLE, (x, foot), (x, top))
        pygame.draw.polygon(canvas, FLAG, [(x, top), (x, top - 10), (x + 25, top - 5)])
    for body in bodies:
        for fixture in body.fixtures:
            corners = [tuple(body.transform * v * scale) for v in fixture.shape.vertices]
            pygame.draw.polygon(canvas, FILL, corners)
            pygame.draw.aalines(canvas, LINE, True, corners)
