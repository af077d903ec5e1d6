"""The interface of opponents."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ludus.envs.board.rules.contract import Position

__all__ = ["Opponent"]


class Opponent(Protocol):
    """Chooses moves, as a function of the position and ``rng`` only."""

    def move(self, position: Position, rng: np.random.Generator) -> int | None:
        """Return a legal move for the player whose turn it is, or ``None`` to resign."""

    def close(self) -> None:
        """Stop its processes; a second call does nothing."""
