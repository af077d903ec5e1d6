"""Draws boards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ludus.envs.board.drawing import backgammon, chess, hexagons, stones
from ludus.envs.board.rules.contract import Position

__all__ = ["picture_of"]

_ARTISTS: dict[str, Callable[[list[str], int | None], NDArray[np.uint8]]] = {
    "backgammon": backgammon.draw,
    "chess": chess.draw,
    "classic-go": stones.draw_go,
    "classic-hex": hexagons.draw,
    "connect-four": stones.draw_connect_four,
    "go": stones.draw_go,
    "hex": hexagons.draw,
    "othello": stones.draw_othello,
    "tic-tac-toe": stones.draw_tic_tac_toe,
}


def picture_of(position: Position) -> NDArray[np.uint8]:
    """Return the board as an array of (height, width, 3).

    Raises:
        DependencyNotInstalled: pygame is not installed.
    """
    return _ARTISTS[position.rules.name](position.squares(), position.last)
