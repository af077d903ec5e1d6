"""Batches of games with a hidden number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core.finite import check_finite_batch
from ludus.envs.toy_text.guessing import as_guesses
from ludus.errors import InvalidAction
from ludus.kernel import KernelVectorEnv, Trajectory

__all__ = ["GuessingVectorEnv"]


class GuessingVectorEnv(KernelVectorEnv):
    """Rounds guesses to float32 and checks their bounds, like a single game."""

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Make a guess in every game.

        Raises:
            InvalidAction: A guess is out of bounds, or not a number.
        """
        return super().step(self._checked(actions))

    def rollout(self, actions: Any = None, **options: Any) -> Trajectory:
        """Run many steps; guesses that are given are checked as :meth:`step` checks them."""
        if actions is not None:
            actions = [self._checked(batch) for batch in actions]
        return super().rollout(actions, **options)

    def _checked(self, actions: Any) -> np.ndarray[Any, Any]:
        guesses = as_guesses(self.single_action_space, actions)
        check_finite_batch(guesses, self.single_action_space)
        outside = np.argwhere(np.abs(guesses) > self.env.params.bound)
        if outside.size:
            where = tuple(outside[0].tolist())
            raise InvalidAction(
                f"The guess of environment {where[0]} is {guesses[where]}, which is invalid: "
                f"expected one number, {self.single_action_space}."
            )
        return guesses
