"""Maps of frozen lakes: known ones, random ones, and how to read one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ludus.seeding import np_random

__all__ = ["MAPS", "generate_random_map", "is_valid", "read_map"]

MAPS: Mapping[str, list[str]] = MappingProxyType(
    {
        "4x4": ["SFFF", "FHFH", "FFFH", "HFFG"],
        "8x8": [
            "SFFFFFFF",
            "FFFFFFFF",
            "FFFHFFFF",
            "FFFFFHFF",
            "FFFHFFFF",
            "FHHFFFHF",
            "FHFFHFHF",
            "FFFHFFFG",
        ],
    }
)
"""The maps known by name: S start, F frozen, H hole, G goal."""


def is_valid(board: Sequence[Sequence[str]] | np.ndarray[Any, Any], max_size: int) -> bool:
    """Return whether a path leads from the top left corner of a square board to a goal."""
    seen = {(0, 0)}
    edge = [(0, 0)]
    while edge:
        row, col = edge.pop()
        for cell in ((row + 1, col), (row, col + 1), (row - 1, col), (row, col - 1)):
            if cell in seen or not (0 <= cell[0] < max_size and 0 <= cell[1] < max_size):
                continue
            letter = board[cell[0]][cell[1]]
            if letter == "G":
                return True
            seen.add(cell)
            if letter != "H":
                edge.append(cell)
    return False


def generate_random_map(size: int = 8, p: float = 0.8, seed: int | None = None) -> list[str]:
    """Return a random square map on which the goal can be reached.

    Args:
        size: Cells per side, at least 2.
        p: The probability that a cell is frozen; the others are holes. Above 1 counts as 1.
        seed: The same seed gives the same map.

    Raises:
        ValueError: No map of that kind could ever be valid.
    """
    if size < 2:
        raise ValueError(f"A map needs a start and a goal: size must be at least 2, got {size}.")
    if not p > 0:
        raise ValueError(f"Nothing would ever be frozen with p={p}; pass p between 0 and 1.")
    p = min(1, p)
    rng, _ = np_random(seed)
    while True:
        board = rng.choice(["F", "H"], (size, size), p=[p, 1 - p])
        board[0, 0], board[-1, -1] = "S", "G"
        if is_valid(board, size):
            return ["".join(row) for row in board]


def read_map(desc: Any, map_name: str | None) -> np.ndarray[Any, Any]:
    """Return ``desc``, else the map of that name, else a random 8x8 one, as an array of bytes.

    Raises:
        KeyError: There is no map of that name.
        ValueError: The map is not a rectangle of letters, or has no start.
    """
    if desc is None:
        if map_name is None:
            desc = generate_random_map()
        elif map_name in MAPS:
            desc = MAPS[map_name]
        else:
            raise KeyError(
                f"There is no map {map_name!r}; choose one of {', '.join(MAPS)}, or pass the rows "
                "of your own as desc=[...]."
            )
    try:
        board = np.asarray(desc, dtype="c")
    except ValueError as problem:
        raise ValueError(
            f"A map is a list of rows of equal length in plain letters, got {desc!r}."
        ) from problem
    if board.ndim != 2 or board.size == 0:
        raise ValueError(f"A map is a list of rows, such as ['SF', 'FG'], got {desc!r}.")
    if not (board == b"S").any():
        raise ValueError(f"A map needs at least one start cell 'S', got {board.tolist()!r}.")
    return board
