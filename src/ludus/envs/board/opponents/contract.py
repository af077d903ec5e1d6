"""What an opponent is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ludus.envs.board.rules.contract import Position

__all__ = ["Opponent"]


class Opponent(Protocol):
    """Chooses moves; all that it remembers must follow from the position and ``rng``."""

    def move(self, position: Position, rng: np.random.Generator) -> int | None:
        """Return a legal move for the player whose turn it is, or ``None`` to resign."""

    def close(self) -> None:
        """End what it runs; a second call does nothing."""
