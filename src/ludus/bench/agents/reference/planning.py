"""Planning with the table of a game: the best that can be done in the time there is."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["PlanningAgent", "solve"]


class PlanningAgent:
    """Looks back from the last step through ``env.unwrapped.P``, and plays the best action."""

    HORIZON = 500
    """Steps to plan for where an episode has no limit; more change nothing in the games here."""

    def __init__(self, env: Any) -> None:
        horizon = env.spec.max_episode_steps or self.HORIZON
        self._plan, _ = solve(env.unwrapped.P, horizon)
        self._as_array = env.action_space.shape == (1,)
        self._step = 0

    def reset(self, seed: int, env: Any) -> None:
        """Start the plan again."""
        self._step = 0

    def act(self, observation: Any) -> Any:
        """Return the best action for the state and the steps left."""
        step = min(self._step, len(self._plan) - 1)
        self._step += 1
        action = int(self._plan[step, int(np.asarray(observation).reshape(-1)[0])])
        return np.array([action], np.int32) if self._as_array else action


def solve(table: Any, horizon: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the best action by step and state for so many steps, and each state's worth."""
    states, actions = len(table), len(table[0])
    outcomes = max(len(row) for choices in table.values() for row in choices.values())
    chance = np.zeros((states, actions, outcomes))
    target = np.zeros((states, actions, outcomes), np.int64)
    pay = np.zeros((states, actions))
    for s, choices in table.items():
        for a, row in choices.items():
            for k, (probability, after, reward, over) in enumerate(row):
                chance[s, a, k] = 0.0 if over else probability
                target[s, a, k] = after
                pay[s, a] += probability * reward
    value = np.zeros(states)
    plan = np.zeros((horizon, states), np.int64)
    for step in range(horizon - 1, -1, -1):
        worth = pay + (chance * value[target]).sum(axis=2)
        plan[step] = worth.argmax(axis=1)
        value = worth.max(axis=1)
    return plan, value
