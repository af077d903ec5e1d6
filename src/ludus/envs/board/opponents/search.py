"""Monte Carlo tree search of open_spiel as an opponent."""

from __future__ import annotations

import numpy as np

from ludus.envs.arguments import positive_int
from ludus.envs.board.rules.contract import Position, Rules
from ludus.envs.board.rules.spiel import SpielPosition, SpielRules, import_spiel
from ludus.errors import Error

__all__ = ["SearchOpponent"]

_EXPLORATION = 2.0
_MEMORY_MB = 256


class SearchOpponent:
    """Chooses moves by ``simulations`` simulated games; more of them play better.

    Each search has a seed from the environment, so that a restored game continues identically.

    Raises:
        Error: The rules are not open_spiel's.
        ValueError: The number of games is not positive.
    """

    def __init__(self, rules: Rules, simulations: int = 100) -> None:
        if not isinstance(rules, SpielRules):
            raise Error(
                f"The opponent 'mcts' knows only the standard rules, not {rules.name}; take an id "
                "of version 1, or opponent='gnugo'."
            )
        self.simulations = positive_int("simulations", simulations)

    def move(self, position: Position, rng: np.random.Generator) -> int | None:
        """Return the most promising move."""
        if not isinstance(position, SpielPosition):
            raise Error("This position is not one of open_spiel's.")
        spiel = import_spiel()
        seed, rollouts = (int(drawn) for drawn in rng.integers(2**31, size=2))
        bot = spiel.MCTSBot(
            position.rules.game,
            spiel.RandomRolloutEvaluator(1, rollouts),
            _EXPLORATION,
            self.simulations,
            _MEMORY_MB,
            True,
            seed,
            False,
        )
        return position.rules.convert(int(bot.step(position.state)))

    def close(self) -> None:
        """Do nothing."""
