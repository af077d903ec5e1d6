"""Draws the town of the taxi."""

from __future__ import annotations

from typing import Any

from ludus.envs.screen import import_pygame
from ludus.envs.toy_text.taxi_rules import STOPS, TAXI
from ludus.envs.view import label

__all__ = ["SIZE", "draw"]

SIZE = (536, 456)
CELL = 84
LEFT, TOP = (SIZE[0] - 5 * CELL) // 2, (SIZE[1] - 5 * CELL) // 2
GROUND, ROAD, LINE, WALL = (92, 100, 96), (206, 206, 200), (188, 188, 182), (84, 62, 56)
PADS = ((222, 96, 86), (96, 178, 108), (232, 206, 92), (88, 132, 214))
CAR, ROOF, GLASS, TYRE = (246, 188, 40), (224, 160, 24), (60, 76, 92), (40, 40, 44)
SKIN, SHIRT, INK = (246, 214, 186), (90, 64, 140), (60, 60, 64)


def draw(
    canvas: Any,
    town: tuple[str, ...],
    state: tuple[int, int, int, int],
    lastaction: int | None,
) -> None:
    """Draw streets, walls and stops; a ring marks the destination."""
    pygame = import_pygame()
    row, col, passenger, destination = state
    canvas.fill(GROUND)
    pygame.draw.rect(canvas, ROAD, pygame.Rect(LEFT, TOP, 5 * CELL, 5 * CELL))
    for i in range(1, 5):
        x, y = LEFT + i * CELL, TOP + i * CELL
        pygame.draw.line(canvas, LINE, (x, TOP), (x, TOP + 5 * CELL), 2)
        pygame.draw.line(canvas, LINE, (LEFT, y), (LEFT + 5 * CELL, y), 2)
    _draw_stops(pygame, canvas, destination)
    _draw_walls(pygame, canvas, town)
    if passenger != TAXI:
        x, y = _center(*STOPS[passenger])
        _draw_person(pygame, canvas, x - 20, y + 14)
    _draw_taxi(pygame, canvas, _center(row, col), lastaction in (0, 1), passenger == TAXI)


def _center(row: int, col: int) -> tuple[int, int]:
    return LEFT + col * CELL + CELL // 2, TOP + row * CELL + CELL // 2


def _draw_stops(pygame: Any, canvas: Any, destination: int) -> None:
    for index, (stop, color) in enumerate(zip(STOPS, PADS, strict=True)):
        pad = pygame.Rect(0, 0, CELL - 12, CELL - 12)
        pad.center = _center(*stop)
        pygame.draw.rect(canvas, color, pad, border_radius=10)
        label(canvas, "RGYB"[index], (pad.right - 12, pad.top + 14), 28, INK)
        if index == destination:
            pygame.draw.circle(canvas, (255, 255, 255), pad.center, 22, 5)
            pygame.draw.circle(canvas, INK, pad.center, 24, 2)


def _draw_walls(pygame: Any, canvas: Any, town: tuple[str, ...]) -> None:
    for row in range(5):
        for col in range(4):
            if town[1 + row][2 * col + 2] == "|":
                wall = pygame.Rect(0, 0, 10, CELL + 4)
                wall.center = (LEFT + (col + 1) * CELL, TOP + row * CELL + CELL // 2)
                pygame.draw.rect(canvas, WALL, wall, border_radius=4)


def _draw_person(pygame: Any, canvas: Any, x: int, y: int) -> None:
    pygame.draw.rect(canvas, SHIRT, pygame.Rect(x - 8, y - 6, 16, 20), border_radius=6)
    pygame.draw.circle(canvas, SKIN, (x, y - 13), 8)


def _draw_taxi(
    pygame: Any, canvas: Any, center: tuple[int, int], upright: bool, occupied: bool
) -> None:
    def part(width: int, height: int, across: int, along: int) -> Any:
        size = (height, width) if upright else (width, height)
        box = pygame.Rect(0, 0, *size)
        shift = (along, across) if upright else (across, along)
        box.center = (center[0] + shift[0], center[1] + shift[1])
        return box

    for across in (-16, 16):
        for along in (-18, 18):
            pygame.draw.rect(canvas, TYRE, part(12, 6, across, along), border_radius=2)
    pygame.draw.rect(canvas, CAR, part(56, 34, 0, 0), border_radius=10)
    pygame.draw.rect(canvas, GLASS, part(34, 26, 0, 0), border_radius=6)
    pygame.draw.rect(canvas, ROOF, part(20, 26, 0, 0), border_radius=4)
    if occupied:
        pygame.draw.circle(canvas, SHIRT, center, 10)
        pygame.draw.circle(canvas, SKIN, center, 7)
