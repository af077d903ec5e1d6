"""Draws a frozen lake."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.envs.screen import import_pygame
from ludus.envs.view import label

__all__ = ["CELL", "draw"]

CELL = 64
ICE, ICE_EDGE, GLINT = (222, 238, 248), (186, 212, 232), (246, 252, 255)
WATER, DEEP = (66, 118, 168), (36, 74, 118)
COAT, FACE, SCARF = (58, 66, 92), (244, 214, 184), (214, 84, 66)
POLE, FLAG, INK = (96, 72, 52), (56, 158, 96), (96, 132, 164)


def draw(canvas: Any, desc: np.ndarray[Any, Any], s: int, cell: tuple[int, int]) -> None:
    """Draw the map and the walker on cell ``s``; a hole swallows all but ripples."""
    pygame = import_pygame()
    canvas.fill(ICE)
    for row, letters in enumerate(desc.tolist()):
        for col, letter in enumerate(letters):
            box = pygame.Rect(col * cell[0], row * cell[1], *cell)
            _draw_cell(pygame, canvas, box, letter)
    row, col = divmod(s, desc.shape[1])
    box = pygame.Rect(col * cell[0], row * cell[1], *cell)
    if bytes(desc[row, col]) == b"H":
        for share in (0.3, 0.5):
            ring = box.inflate(-box.width * (1 - share), -box.height * (1 - share * 0.7))
            pygame.draw.ellipse(canvas, GLINT, ring, 2)
    else:
        _draw_walker(pygame, canvas, box)


def _draw_cell(pygame: Any, canvas: Any, box: Any, letter: bytes) -> None:
    unit = min(box.size) / CELL
    pygame.draw.rect(canvas, ICE_EDGE, box, 1)
    if letter == b"H":
        pygame.draw.ellipse(canvas, DEEP, box.inflate(-10 * unit, -14 * unit))
        pygame.draw.ellipse(canvas, WATER, box.inflate(-16 * unit, -22 * unit).move(0, 2 * unit))
        return
    for left, top, length in ((10, 16, 14), (34, 44, 18)):
        start = (box.left + left * unit, box.top + top * unit)
        end = (start[0] + length * unit, start[1] - length * unit / 2)
        pygame.draw.line(canvas, GLINT, start, end, max(1, round(3 * unit)))
    if letter == b"S":
        label(canvas, "S", box.center, round(36 * unit), INK)
    if letter == b"G":
        foot, top = box.bottom - 12 * unit, box.top + 10 * unit
        x = box.left + 22 * unit
        pygame.draw.line(canvas, POLE, (x, foot), (x, top), max(1, round(4 * unit)))
        corners = [(x, top), (x + 28 * unit, top + 10 * unit), (x, top + 20 * unit)]
        pygame.draw.polygon(canvas, FLAG, corners)


def _draw_walker(pygame: Any, canvas: Any, box: Any) -> None:
    unit = min(box.size) / CELL
    x, y = box.center
    body = pygame.Rect(0, 0, 22 * unit, 24 * unit)
    body.center = (round(x), round(y + 10 * unit))
    pygame.draw.rect(canvas, COAT, body, border_radius=round(8 * unit))
    pygame.draw.circle(canvas, FACE, (x, y - 8 * unit), 9 * unit)
    scarf = pygame.Rect(0, 0, 20 * unit, 5 * unit)
    scarf.center = (round(x), round(y + 1 * unit))
    pygame.draw.rect(canvas, SCARF, scarf, border_radius=round(2 * unit))
