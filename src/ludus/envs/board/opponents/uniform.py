"""An opponent that plays random moves."""

from __future__ import annotations

import numpy as np

from ludus.envs.board.rules.contract import Position

__all__ = ["UniformOpponent"]


class UniformOpponent:
    """Plays each legal move, including passing, with equal probability."""

    def move(self, position: Position, rng: np.random.Generator) -> int | None:
        """Return a legal move."""
        legal = position.mask().nonzero()[0]
        return int(legal[rng.integers(len(legal))])

    def close(self) -> None:
        """Do nothing."""
