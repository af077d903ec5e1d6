"""The board of Hex."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ludus.envs.board.drawing.pen import Pen, Point

__all__ = ["draw"]

_WIDTH = 600
_TABLE = (150, 166, 176)
_EDGE = (120, 110, 100)
_CELLS = {"x": (40, 40, 44), "o": (250, 250, 250), ".": (226, 200, 150)}
_STONE_EDGE = (90, 80, 70)
_LAST = (226, 86, 60)


def draw(squares: list[str], last: int | None) -> NDArray[np.uint8]:
    """Return the rhombus; its sides have the colours of the players who connect them."""
    size = len(squares)
    # A row is half a cell further to the right than the one above it.
    cell = _WIDTH / (1.5 * size + 1.8)
    radius = cell / math.sqrt(3)
    height = round(radius * (1.5 * (size - 1) + 3.6))
    pen = Pen(_WIDTH, height, _TABLE)

    def at(row: float, column: float) -> Point:
        return cell * (1.65 + column + row / 2), radius * (1.8 + 1.5 * row)

    _draw_sides(pen, at(0, 0), at(0, size - 1), at(size - 1, size - 1), at(size - 1, 0), radius)
    for row, cells in enumerate(squares):
        for column, owner in enumerate(cells):
            center = at(row, column)
            pen.polygon(_corners(center, radius), _CELLS["."], _EDGE)
            if owner != ".":
                pen.circle(center, cell * 0.4, _CELLS[owner], _STONE_EDGE)
                if last == row * size + column:
                    pen.circle(center, cell * 0.13, _LAST)
    return pen.picture()


def _draw_sides(pen: Pen, a: Point, b: Point, c: Point, d: Point, radius: float) -> None:
    """Draw a quarter for each side under the board: black above and below, white at the sides."""
    middle = ((a[0] + c[0]) / 2, (a[1] + c[1]) / 2)
    out, aside = 1.6 * radius, math.sqrt(3) * radius
    # The sides lean as the rows do: by half a cell for each row.
    lean = out / math.sqrt(3)
    corners = [
        (a[0] - aside - lean, a[1] - out),
        (b[0] + aside - lean, b[1] - out),
        (c[0] + aside + lean, c[1] + out),
        (d[0] - aside + lean, d[1] + out),
    ]
    for i, color in enumerate((_CELLS["x"], _CELLS["o"], _CELLS["x"], _CELLS["o"])):
        pen.polygon([corners[i], corners[(i + 1) % 4], middle], color, _EDGE)


def _corners(center: Point, radius: float) -> list[Point]:
    angles = [math.pi / 6 + i * math.pi / 3 for i in range(6)]
    return [(center[0] + radius * math.cos(t), center[1] + radius * math.sin(t)) for t in angles]
