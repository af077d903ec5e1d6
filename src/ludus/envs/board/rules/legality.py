"""Checks of moves from outside."""

from __future__ import annotations

import operator
from typing import Any

from ludus.envs.board.rules.contract import Position
from ludus.errors import InvalidAction

__all__ = ["as_move", "illegal", "is_legal"]


def as_move(action: Any) -> int:
    """Return an action as an int.

    Raises:
        InvalidAction: It is not an integer.
    """
    try:
        return operator.index(action)
    except TypeError as problem:
        raise InvalidAction(f"A move is an integer, got {action!r}.") from problem


def is_legal(position: Position, move: int) -> bool:
    """Return whether a move is allowed."""
    mask = position.mask()
    return 0 <= move < len(mask) and bool(mask[move])


def illegal(position: Position, move: int) -> InvalidAction:
    """Return the exception for a move that is not allowed."""
    return InvalidAction(
        f"The move {move} is illegal in\n{position.text()}Legal moves are {position.legal()}; the "
        "action mask marks them."
    )
