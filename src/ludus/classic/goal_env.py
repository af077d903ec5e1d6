"""Base class of goal-conditioned environments."""

from __future__ import annotations

from typing import Any

from ludus.classic.env import Env
from ludus.classic.error import Error
from ludus.spaces import Dict

__all__ = ["GoalEnv"]

_KEYS = ("observation", "achieved_goal", "desired_goal")


class GoalEnv(Env):
    """An environment whose observations contain the desired and the achieved goal.

    A subclass implements :meth:`compute_reward`, so that rewards can be recomputed for other goals,
    and calls ``super().reset()`` first in ``reset``.
    """

    def reset(self) -> Any:
        """Check the observation space; the subclass returns the observation.

        Raises:
            Error: The observation space is not a ``Dict`` with the three keys.
        """
        if not isinstance(self.observation_space, Dict):
            raise Error(
                "GoalEnv requires an observation space of type Dict, got "
                f"{type(self.observation_space)}."
            )
        for key in _KEYS:
            if key not in self.observation_space.spaces:
                raise Error(
                    f'GoalEnv requires the "{key}" key to be part of the observation dictionary; '
                    f"it has {list(self.observation_space.spaces)}."
                )

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: dict[str, Any]) -> float:
        """Return the reward for reaching ``achieved_goal`` instead of ``desired_goal``."""
        raise NotImplementedError(f"{type(self).__name__} does not implement compute_reward()")
