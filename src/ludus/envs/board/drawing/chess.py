"""The board of chess, with pieces made of simple shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.envs.board.drawing.pen import Pen, Point

__all__ = ["draw"]

_SIDE = 480
_MARGIN = 24
_LIGHT, _DARK, _FRAME = (238, 217, 181), (176, 130, 92), (84, 58, 40)
_WHITE, _BLACK = (252, 250, 244), (44, 42, 46)
_WORDS = (238, 217, 181)

_FOOT = "24 86 76 86 70 75 30 75"
# Outlines, and discs as x, y and radius; in hundredths of a field, from its top left.
_PIECES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "p": ((_FOOT, "41 44 59 44 66 75 34 75"), ("50 36 13",)),
    "r": (
        (
            _FOOT,
            "37 40 63 40 66 75 34 75",
            "27 18 37 18 37 25 45 25 45 18 55 18 55 25 63 25 63 18 73 18 73 36 66 42 34 42 27 36",
        ),
        (),
    ),
    "n": (
        (_FOOT, "30 75 38 60 46 50 34 54 25 52 23 44 38 28 42 14 51 22 63 30 71 46 71 75"),
        (),
    ),
    "b": (
        (_FOOT, "42 58 58 58 64 75 36 75", "50 20 62 34 65 46 58 60 42 60 35 46 38 34"),
        ("50 17 5",),
    ),
    "q": (
        (_FOOT, "30 75 17 32 34 50 38 24 50 48 62 24 66 50 83 32 70 75"),
        ("17 29 4.5", "38 21 4.5", "62 21 4.5", "83 29 4.5"),
    ),
    "k": (
        (
            "46 10 54 10 54 17 61 17 61 25 54 25 54 44 46 44 46 25 39 25 39 17 46 17",
            _FOOT,
            "30 75 20 48 27 37 40 36 50 46 60 36 73 37 80 48 70 75",
        ),
        (),
    ),
}


def draw(squares: list[str], last: int | None) -> NDArray[np.uint8]:
    """Return the board as white sees it."""
    step = (_SIDE - 2 * _MARGIN) / 8
    pen = Pen(_SIDE, _SIDE, _FRAME)
    for i in range(8):
        place, middle = _MARGIN + (i + 0.5) * step, _MARGIN / 2
        for far in (middle, _SIDE - middle):
            pen.write("abcdefgh"[i], (place, far), 20, _WORDS)
            pen.write(str(8 - i), (far, place), 20, _WORDS)
    for row, cells in enumerate(squares):
        for column, piece in enumerate(cells):
            corner = (_MARGIN + column * step, _MARGIN + row * step)
            pen.rectangle(corner, (step, step), _DARK if (row + column) % 2 else _LIGHT)
            if piece != ".":
                _draw_piece(pen, piece, corner, step)
    return pen.picture()


def _draw_piece(pen: Pen, piece: str, corner: Point, side: float) -> None:
    fill, edge = (_WHITE, _BLACK) if piece.isupper() else (_BLACK, _WHITE)
    shapes, discs = _PIECES[piece.lower()]
    for shape in shapes:
        numbers = _numbers(shape, side)
        points = [
            (corner[0] + x, corner[1] + y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)
        ]
        pen.polygon(points, fill, edge)
    for disc in discs:
        x, y, radius = _numbers(disc, side)
        pen.circle((corner[0] + x, corner[1] + y), radius, fill, edge)


def _numbers(text: str, side: float) -> list[float]:
    return [float(word) * side / 100 for word in text.split()]
