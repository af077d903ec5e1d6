"""The board of backgammon."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ludus.envs.board.drawing.pen import Pen, Point

__all__ = ["draw"]

_WIDTH, _HEIGHT = 600, 400
_FRAME, _FELT = (92, 62, 40), (214, 190, 150)
_POINTS = ((150, 78, 58), (238, 226, 200))
_CHECKERS = {"x": (40, 40, 44), "o": (250, 248, 240)}
_EDGE = (70, 60, 50)
_TRAY = (70, 46, 30)
_MARGIN = 14
_STEP = 38
_BAR = 36
_DIAGONAL, _OTHER = ((-1, -1), (1, 1)), ((-1, 1), (1, -1))
_BESIDE = ((-1, 0), (1, 0))
_PIPS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 0),),
    2: _DIAGONAL,
    3: (*_DIAGONAL, (0, 0)),
    4: (*_DIAGONAL, *_OTHER),
    5: (*_DIAGONAL, *_OTHER, (0, 0)),
    6: (*_DIAGONAL, *_OTHER, *_BESIDE),
}
_STACK = 5
"""Checkers that a point shows one beside the other; more are counted on the last of them."""


def draw(squares: list[str], last: int | None) -> NDArray[np.uint8]:
    """Return the board: points 0 to 11 from right to left below, 12 to 23 back above."""
    pen = Pen(_WIDTH, _HEIGHT, _FRAME)
    for half in (0, 1):
        left = _MARGIN + half * (6 * _STEP + _BAR)
        pen.rectangle((left, _MARGIN), (6 * _STEP, _HEIGHT - 2 * _MARGIN), _FELT)
    for point in range(24):
        _draw_point(pen, point)
        _stack(pen, squares[point], _base(point), -1 if point < 12 else 1)
    middle = _MARGIN + 6 * _STEP + _BAR / 2
    home = _MARGIN + 12 * _STEP + _BAR + (_WIDTH - 2 * _MARGIN - 12 * _STEP - _BAR) / 2
    tray = _STEP * 1.5
    pen.rectangle((home - tray / 2, _MARGIN), (tray, _HEIGHT - 2 * _MARGIN), _TRAY)
    for side, away in ((0, 1), (1, -1)):
        _stack(pen, squares[24 + side], (middle, _HEIGHT / 2 + away * 4), away)
        _count(pen, squares[26 + side], (home, _HEIGHT / 2 - away * _HEIGHT / 4))
    for i, number in enumerate(squares[28]):
        _draw_die(pen, (_MARGIN + (8.5 + i) * _STEP + _BAR, _HEIGHT / 2), int(number))
    return pen.picture()


def _draw_die(pen: Pen, center: Point, number: int) -> None:
    side = _STEP * 0.8
    pen.rectangle((center[0] - side / 2, center[1] - side / 2), (side, side), _CHECKERS["o"])
    for x, y in _PIPS[number]:
        pen.circle((center[0] + x * side * 0.28, center[1] + y * side * 0.28), 3, _EDGE)


def _base(point: int) -> Point:
    column = 11 - point if point < 12 else point - 12
    x = _MARGIN + (column + 0.5) * _STEP + (_BAR if column >= 6 else 0)
    return x, (_HEIGHT - _MARGIN) if point < 12 else _MARGIN


def _draw_point(pen: Pen, point: int) -> None:
    x, y = _base(point)
    tip = y + (-1 if point < 12 else 1) * _STEP * 4.2
    corners = [(x - _STEP / 2, y), (x + _STEP / 2, y), (x, tip)]
    pen.polygon(corners, _POINTS[point % 2], _EDGE)


def _stack(pen: Pen, checkers: str, base: Point, away: int) -> None:
    for i, checker in enumerate(checkers[:_STACK]):
        center = (base[0], base[1] + away * (i + 0.5) * _STEP * 0.84)
        pen.circle(center, _STEP * 0.41, _CHECKERS[checker], _EDGE)
        if i == _STACK - 1 and len(checkers) > _STACK:
            _number(pen, checkers, center)


def _count(pen: Pen, checkers: str, center: Point) -> None:
    if checkers:
        pen.circle(center, _STEP * 0.41, _CHECKERS[checkers[0]], _EDGE)
        _number(pen, checkers, center)


def _number(pen: Pen, checkers: str, center: Point) -> None:
    other = _CHECKERS["o" if checkers[0] == "x" else "x"]
    pen.write(str(len(checkers)), center, 22, other)
