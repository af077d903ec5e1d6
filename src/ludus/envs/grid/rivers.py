"""Rivers across a room, and openings in them that leave a way from corner to corner.

Rivers may run along every second column and row. The numbers are drawn as Minigrid draws them, so
that a seed gives the maze it gives there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.envs.grid.maps import EMPTY
from ludus.kernel.random import integers

__all__ = ["cross_rivers", "places_along"]

DOWN_RIVER, RIGHT_RIVER = 0, 1
WORD = 2**32


def places_along(size: int) -> int:
    """Return how many columns, and how many rows, can hold a river."""
    return (size - 3) // 2


def shuffle(items: np.ndarray[Any, Any], count: int, rng: Any) -> None:
    """Shuffle the first items, with the draws of ``Generator.shuffle`` of a list."""
    for k in range(count - 1, 0, -1):
        span = 2
        while span <= k:
            span *= 2
        other = integers(rng, 0, WORD) % span
        while other > k:
            other = integers(rng, 0, WORD) % span
        kept = items[k]
        items[k] = items[other]
        items[other] = kept


def sort(items: np.ndarray[Any, Any], count: int) -> None:
    """Sort the first items, which are few."""
    for end in range(1, count):
        k = end
        while k > 0 and items[k - 1] > items[k]:
            kept = items[k]
            items[k] = items[k - 1]
            items[k - 1] = kept
            k -= 1


def cross_rivers(cells: np.ndarray[Any, Any], crossings: int, obstacle: int, rng: Any) -> None:
    """Choose rivers, fill them, and open each once along a random walk to the far corner.

    Args:
        cells: The maze, square; its top and bottom rows are used as scratch memory, for numbers
            below ``2 * places_along(size)``.
        crossings: Number of rivers.
        obstacle: What to fill them with.
        rng: The random generator.
    """
    size = cells.shape[0]
    along = places_along(size)
    rivers, path = cells[0], cells[size - 1]
    for k in range(2 * along):
        rivers[k] = k
    shuffle(rivers, 2 * along, rng)
    # Sorted, the columns come before the rows, each from near to far.
    sort(rivers, crossings)
    columns = 0
    for k in range(crossings):
        place = int(rivers[k])
        columns += int(place < along)
        for step in range(1, size - 1):
            if place < along:
                cells[step, 2 + 2 * place] = obstacle
            else:
                cells[2 + 2 * (place - along), step] = obstacle
    for k in range(crossings):
        path[k] = DOWN_RIVER if k < columns else RIGHT_RIVER
    shuffle(path, crossings, rng)
    open_rivers(cells, crossings, columns, rng)


def open_rivers(cells: np.ndarray[Any, Any], crossings: int, columns: int, rng: Any) -> None:
    """Open the rivers in the order of the path, each where it borders the room before it."""
    far = cells.shape[0] - 1
    along = places_along(cells.shape[0])
    rivers, path = cells[0], cells[far]
    passed_columns, passed_rows = 0, columns
    left, top = 0, 0
    for k in range(crossings):
        right = 2 + 2 * int(rivers[passed_columns]) if passed_columns < columns else far
        bottom = 2 + 2 * (int(rivers[passed_rows]) - along) if passed_rows < crossings else far
        if path[k] == DOWN_RIVER:
            cells[integers(rng, top + 1, bottom), right] = EMPTY
            left = right
            passed_columns += 1
        else:
            cells[bottom, integers(rng, left + 1, right)] = EMPTY
            top = bottom
            passed_rows += 1
