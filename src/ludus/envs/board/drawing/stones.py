"""Boards with stones: Go, Othello, Connect Four, Tic-Tac-Toe."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ludus.envs.board.drawing.pen import Color, Pen, Point

__all__ = ["draw_connect_four", "draw_go", "draw_othello", "draw_tic_tac_toe"]

_Grid = Callable[[float, float], Point]
"""From row and column to the middle of a field."""

_SIDE = 480
_WOOD = (222, 184, 120)
_INK = (60, 45, 30)
_GREEN = (38, 120, 74)
_BLUE = (40, 84, 168)
_PAPER = (248, 246, 240)
_STONES = {"x": (28, 28, 30), "o": (246, 246, 242)}
_DISCS = {"x": (222, 72, 60), "o": (244, 204, 70)}
_MARKS = {"x": (190, 60, 50), "o": (40, 84, 168)}
_LAST = (226, 86, 60)
_LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
_STARS = {9: (2, 4, 6), 13: (3, 6, 9), 19: (3, 9, 15)}


def draw_go(squares: list[str], last: int | None) -> NDArray[np.uint8]:
    """Return a board of Go, named as players name its points."""
    size = len(squares)
    step = _SIDE / (size + 1.6)
    first = 1.3 * step
    pen = Pen(_SIDE, _SIDE, _WOOD)

    def at(row: float, column: float) -> Point:
        return first + column * step, first + row * step

    for i in range(size):
        pen.line(at(i, 0), at(i, size - 1), _INK)
        pen.line(at(0, i), at(size - 1, i), _INK)
        words = max(12, round(step * 0.5))
        pen.write(_LETTERS[i], at(-0.85, i), words, _INK)
        pen.write(str(size - i), at(i, -0.85), words, _INK)
    for row in _STARS.get(size, ()):
        for column in _STARS[size]:
            pen.circle(at(row, column), max(2.0, step * 0.09), _INK)
    _place(pen, squares, at, step * 0.47, last)
    return pen.picture()


def draw_othello(squares: list[str], last: int | None) -> NDArray[np.uint8]:
    """Return a board of Othello."""
    step = _SIDE / 8
    pen = Pen(_SIDE, _SIDE, _GREEN)
    for i in range(9):
        pen.line((i * step, 0), (i * step, _SIDE), _INK)
        pen.line((0, i * step), (_SIDE, i * step), _INK)

    def at(row: float, column: float) -> Point:
        return (column + 0.5) * step, (row + 0.5) * step

    _place(pen, squares, at, step * 0.42, last)
    return pen.picture()


def draw_connect_four(squares: list[str], last: int | None) -> NDArray[np.uint8]:
    """Return the upright board of Connect Four."""
    step = _SIDE / 7
    pen = Pen(_SIDE, round(step * 6), _BLUE)
    for row, cells in enumerate(squares):
        for column, cell in enumerate(cells):
            center = ((column + 0.5) * step, (row + 0.5) * step)
            pen.circle(center, step * 0.41, _DISCS.get(cell, _PAPER))
            if cell in _DISCS:
                pen.ring(center, step * 0.28, _darker(_DISCS[cell]))
    return pen.picture()


def draw_tic_tac_toe(squares: list[str], last: int | None) -> NDArray[np.uint8]:
    """Return the board of Tic-Tac-Toe."""
    side = _SIDE // 2
    step = side / 3
    reach = step * 0.28
    pen = Pen(side, side, _PAPER)
    for i in (1, 2):
        pen.line((i * step, 8), (i * step, side - 8), _INK, 3)
        pen.line((8, i * step), (side - 8, i * step), _INK, 3)
    for row, cells in enumerate(squares):
        for column, cell in enumerate(cells):
            x, y = (column + 0.5) * step, (row + 0.5) * step
            if cell == "x":
                pen.line((x - reach, y - reach), (x + reach, y + reach), _MARKS["x"], 8)
                pen.line((x - reach, y + reach), (x + reach, y - reach), _MARKS["x"], 8)
            elif cell == "o":
                pen.ring((x, y), reach * 1.1, _MARKS["o"], 8)
    return pen.picture()


def _place(pen: Pen, squares: list[str], at: _Grid, radius: float, last: int | None) -> None:
    for row, cells in enumerate(squares):
        for column, cell in enumerate(cells):
            if cell in _STONES:
                pen.circle(at(row, column), radius, _STONES[cell], _INK)
                if last == row * len(cells) + column:
                    pen.circle(at(row, column), radius * 0.32, _LAST)


def _darker(color: Color) -> Color:
    red, green, blue = (part * 4 // 5 for part in color)
    return red, green, blue
