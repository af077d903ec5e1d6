"""Draws a walk along a cliff."""

from __future__ import annotations

from typing import Any

from ludus.envs.screen import import_pygame
from ludus.envs.view import label

__all__ = ["CELL", "draw"]

CELL = 64
GRASS, TUFT, BORDER = (168, 204, 128), (136, 176, 100), (150, 188, 112)
ROCK, CRACK, ABYSS = (128, 108, 96), (92, 76, 68), (44, 38, 44)
BODY, FACE, INK = (66, 84, 140), (246, 216, 188), (80, 96, 60)
POLE, FLAG = (96, 72, 52), (212, 72, 66)


def draw(canvas: Any, shape: tuple[int, int], s: int) -> None:
    """Draw meadow, cliff, goal, and the walker on cell ``s``."""
    pygame = import_pygame()
    rows, cols = shape
    canvas.fill(GRASS)
    for row in range(rows):
        for col in range(cols):
            box = pygame.Rect(col * CELL, row * CELL, CELL, CELL)
            if row == rows - 1 and 0 < col < cols - 1:
                _draw_cliff(pygame, canvas, box, col)
            else:
                pygame.draw.rect(canvas, BORDER, box, 1)
                _draw_tuft(pygame, canvas, box.left + 12 + (col * 17 + row * 29) % 36, box.top + 22)
                _draw_tuft(pygame, canvas, box.left + 10 + (col * 31 + row * 13) % 40, box.top + 52)
    label(canvas, "S", (CELL // 2, rows * CELL - CELL // 2), 36, INK)
    _draw_flag(pygame, canvas, (cols - 1) * CELL, (rows - 1) * CELL)
    row, col = divmod(s, cols)
    _draw_walker(pygame, canvas, col * CELL + CELL // 2, row * CELL + CELL // 2)


def _draw_tuft(pygame: Any, canvas: Any, x: int, y: int) -> None:
    for lean in (-4, 0, 4):
        pygame.draw.line(canvas, TUFT, (x, y), (x + lean, y - 7), 2)


def _draw_cliff(pygame: Any, canvas: Any, box: Any, col: int) -> None:
    pygame.draw.rect(canvas, ABYSS, box)
    # Neighbouring cells meet at one height.
    depths = [18, *(14 + (col * 7 + step * 11) % 12 for step in (3, 2, 1)), 18]
    edge = [(box.right - i * CELL // 4, box.top + depth) for i, depth in enumerate(depths)]
    pygame.draw.polygon(canvas, ROCK, [box.topleft, box.topright, *edge])
    pygame.draw.lines(canvas, CRACK, False, edge, 3)


def _draw_flag(pygame: Any, canvas: Any, left: int, top: int) -> None:
    pygame.draw.line(canvas, POLE, (left + 24, top + 54), (left + 24, top + 10), 4)
    corners = [(left + 24, top + 10), (left + 52, top + 20), (left + 24, top + 30)]
    pygame.draw.polygon(canvas, FLAG, corners)


def _draw_walker(pygame: Any, canvas: Any, x: int, y: int) -> None:
    pygame.draw.rect(canvas, BODY, pygame.Rect(x - 11, y - 2, 22, 24), border_radius=8)
    pygame.draw.circle(canvas, FACE, (x, y - 9), 9)
