"""The maze: its free cells by number, what is seen from each, and where moves lead."""

from __future__ import annotations

import numpy as np

SIZE = 9
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
WALLS = np.ones((SIZE + 2, SIZE + 2), np.int64)
WALLS[1:-1, 1:-1] = 0
WALLS[2:-2:2, 2:-2:2] = 1
PLACES = [(int(row), int(column)) for row, column in np.argwhere(WALLS == 0)]
CELLS = range(len(PLACES))
START = PLACES.index((SIZE // 2 + 1, SIZE // 2 + 1))


def _view(row: int, column: int) -> int:
    """Return the walls around a place as one number."""
    return int(WALLS[row - 1 : row + 2, column - 1 : column + 2].ravel() @ 2 ** np.arange(9))


def _next(row: int, column: int, move: tuple[int, int]) -> int:
    there = (row + move[0], column + move[1])
    return PLACES.index((row, column) if WALLS[there] else there)


VIEWS = sorted({_view(*place) for place in PLACES})
SEEN = [VIEWS.index(_view(*place)) for place in PLACES]
NEXT = [[_next(*place, move) for move in MOVES] for place in PLACES]
