"""What cells hold; maps of walls, read from text, and the four steps on them.

Positions are (row, column), counted from the top left, the surrounding wall included.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "AGENT",
    "DOWN",
    "EMPTY",
    "GOAL",
    "LAVA",
    "LEFT",
    "RIGHT",
    "UNSEEN",
    "UP",
    "WALL",
    "check_cell",
    "read_walls",
    "step_from",
]

UP, RIGHT, DOWN, LEFT = range(4)
UNSEEN, EMPTY, WALL, GOAL, LAVA, AGENT = 0, 1, 2, 8, 9, 10
"""Contents of a cell, as in the observations of a partial view."""
FREE = ". "


def read_walls(rows: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return where the walls of a map are; ``.`` and spaces are free, all else is wall.

    Raises:
        ValueError: The rows are not equally long, a free cell lies on the edge, or fewer than two
            are free.
    """
    if len({len(row) for row in rows}) != 1:
        raise ValueError(
            f"The rows of a map must have one length, got {[len(row) for row in rows]}."
        )
    walls = np.array([[letter not in FREE for letter in row] for row in rows], dtype=np.uint8)
    edge = walls.copy()
    edge[1:-1, 1:-1] = 1
    if not edge.all():
        row, column = np.argwhere(edge == 0)[0].tolist()
        raise ValueError(
            f"The map is open at row {row}, column {column}; surround it with a wall ('#')."
        )
    if np.count_nonzero(walls == 0) < 2:
        raise ValueError("The map has fewer than two free cells, too few for a start and a goal.")
    return walls


def check_cell(name: str, cell: Sequence[int], walls: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return a position as two ints.

    Raises:
        ValueError: It is not a free cell of the map, or no position at all.
    """
    try:
        row, column = map(operator.index, cell)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} is {cell!r}; expected two whole numbers, (row, column)."
        ) from None
    inside = 0 <= row < walls.shape[0] and 0 <= column < walls.shape[1]
    if not inside or walls[row, column]:
        raise ValueError(
            f"{name} is {tuple(cell)}, which is no free cell; pass a (row, column) inside the "
            f"walls of the {walls.shape[0]}x{walls.shape[1]} map."
        )
    return row, column


def step_from(row: int, column: int, action: int) -> tuple[int, int]:
    """Return where a step leads if nothing is in the way."""
    return (
        row + int(action == DOWN) - int(action == UP),
        column + int(action == RIGHT) - int(action == LEFT),
    )
