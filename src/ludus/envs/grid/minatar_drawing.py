"""Draws cells with channels, as a picture and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.envs.screen import import_pygame

__all__ = ["CELL", "draw", "write"]

CELL = 32
GROUND, LINES = (24, 26, 38), (36, 39, 54)
PALETTE = (
    (250, 222, 90),
    (232, 88, 80),
    (92, 104, 140),
    (86, 176, 236),
    (240, 240, 245),
    (240, 150, 70),
    (190, 110, 220),
    (70, 190, 170),
    (120, 210, 100),
    (245, 140, 180),
)
"""One colour per channel."""


def draw(canvas: Any, cells: np.ndarray[Any, Any]) -> None:
    """Draw each cell as a square in its channel's colour, the first channels on top."""
    pygame = import_pygame()
    canvas.fill(LINES)
    rows, columns, _ = cells.shape
    for y in range(rows):
        for x in range(columns):
            active = np.flatnonzero(cells[y, x])
            color = PALETTE[active[0]] if len(active) else GROUND
            corner = (x * CELL + 1, y * CELL + 1)
            pygame.draw.rect(canvas, color, (*corner, CELL - 2, CELL - 2), border_radius=4)


def write(cells: np.ndarray[Any, Any], glyphs: str) -> str:
    """Return a line per row, with the glyph of each cell's first channel."""
    first = np.where(cells.any(axis=2), cells.argmax(axis=2), len(glyphs))
    return "".join("".join((glyphs + ".")[k] for k in row) + "\n" for row in first)
