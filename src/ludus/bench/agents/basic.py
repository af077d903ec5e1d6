"""Agents that look at nothing."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ludus.spaces import Space

__all__ = ["ConstantAgent", "RandomAgent"]


class RandomAgent:
    """Draws every action from the action space."""

    def __init__(self, space: Space[Any], seed: int) -> None:
        # A copy: the environment's own space may be drawn from by others.
        self._space = deepcopy(space)
        self._space.seed(seed)

    def act(self, observation: Any) -> Any:
        """Return any action."""
        return self._space.sample()

    def act_batch(self, observations: Any) -> Any:
        """Return any actions; the space is that of a batch."""
        return self._space.sample()


class ConstantAgent:
    """Always does the same."""

    def __init__(self, action: Any) -> None:
        self._action = action

    def act(self, observation: Any) -> Any:
        """Return the action."""
        return self._action
