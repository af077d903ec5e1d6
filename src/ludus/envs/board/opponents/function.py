"""A function or policy of the user as an opponent."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.envs.board.rules.contract import Position

__all__ = ["FunctionOpponent"]


class FunctionOpponent:
    """Calls a function with the observation of the player to move.

    Args:
        choose: Returns a move, or ``None`` to resign. If it takes two arguments, the second is the
            mask of legal moves.
    """

    def __init__(self, choose: Callable[..., Any]) -> None:
        self._choose = choose
        self._with_mask = _takes_two(choose)

    def move(self, position: Position, rng: np.random.Generator) -> int | None:
        """Return the function's move."""
        seen = position.observation(position.to_move)
        found: int | None = (
            self._choose(seen, position.mask().copy()) if self._with_mask else self._choose(seen)
        )
        return found

    def close(self) -> None:
        """Do nothing: the function is the user's."""


def _takes_two(choose: Callable[..., Any]) -> bool:
    try:
        inspect.signature(choose).bind(None, None)
    except (TypeError, ValueError):
        return False
    return True
