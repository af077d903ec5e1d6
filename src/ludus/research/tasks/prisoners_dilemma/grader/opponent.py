"""The opponent: eleven characters, one of which is drawn anew in each round."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Opponent", "characters"]

Moves: TypeAlias = NDArray[np.int64]

COUNT = 11
FORGIVING = 0.25
"""How often the generous character lets a defection pass."""


def characters(player: Moves, own: Moves, chance: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Return which games each character would defect in.

    Args:
        player: The player's moves until now, games by rounds.
        own: Those on the opponent's side, whoever made them.
        chance: A number per game, uniform in [0, 1).
    """
    turn = player.shape[1]
    last = _last(player)
    return {
        "saint": chance < 0,
        "villain": chance >= 0,
        "coin": chance < 0.5,
        "alternating": chance < turn % 2,
        "tit for tat": last == 1,
        # The opposite of the player's last move, after a friendly start.
        "contrary": (last == 0) & (chance < min(turn, 1)),
        # After two defections in a row.
        "patient": player[:, -2:].sum(axis=1) == 2,
        "generous": (last == 1) & (chance >= FORGIVING),
        "grim": player.sum(axis=1) > 0,
        # Cooperates if both did the same before.
        "pavlov": last != _last(own),
        # Once the player has defected in more than half of the rounds.
        "majority": 2 * player.sum(axis=1) > turn,
    }


class Opponent:
    """All that it will ever draw is drawn in the beginning, whatever the player does.

    Args:
        rng: Where from.
        games: How many are played.
        rounds: Of each.
    """

    def __init__(self, rng: np.random.Generator, games: int, rounds: int) -> None:
        self._drawn = rng.integers(COUNT, size=(rounds, games))
        self._chance = rng.random((rounds, games))

    def moves(self, player: Moves, own: Moves) -> Moves:
        """Return the next move in each game, after those of both until now."""
        turn = player.shape[1]
        answers = np.array(list(characters(player, own, self._chance[turn]).values()))
        return answers[self._drawn[turn], np.arange(len(player))].astype(np.int64)


def _last(moves: Moves) -> Moves:
    """Return the last move of each game; before the first, everybody seems to have cooperated."""
    return moves[:, -1] if moves.shape[1] else np.zeros(len(moves), dtype=np.int64)
