"""An opponent that moves at random."""

from __future__ import annotations

import numpy as np

from ludus.envs.board.rules.contract import Position

__all__ = ["UniformOpponent"]


class UniformOpponent:
    """Every legal move, passing included, is equally likely."""

    def move(self, position: Position, rng: np.random.Generator) -> int | None:
        """Return a legal move."""
        legal = position.mask().nonzero()[0]
        return int(legal[rng.integers(len(legal))])

    def close(self) -> None:
        """Do nothing."""
