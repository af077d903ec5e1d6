"""Players of the small games without a table."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "BisectingAgent",
    "BlackjackAgent",
    "KellyAgent",
    "NChainAgent",
    "PlanningAgent",
    "RouletteAgent",
    "solve",
]


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


class BlackjackAgent:
    """Plays the basic strategy for a game in which one can only hit or stick."""

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> int:
        """Return 1 to hit, 0 to stick."""
        total, dealer, usable = (int(number) for number in observation)
        strong = dealer == 1 or dealer >= 7
        if usable:
            return int(total <= 17 or (total == 18 and (dealer == 1 or dealer >= 9)))
        if strong:
            return int(total <= 16)
        return int(total <= (12 if dealer in (2, 3) else 11))


class NChainAgent:
    """Goes forward, always."""

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> int:
        """Return the step forward."""
        return 0


class RouletteAgent:
    """Walks away: every bet but one costs money, and that one earns none."""

    def __init__(self, env: Any) -> None:
        self._leave = int(env.action_space.n) - 1

    def act(self, observation: Any) -> int:
        """Return the action that leaves the table."""
        return self._leave


class BisectingAgent:
    """Halves the interval that the hidden number lies in."""

    RANGE = 1000.0

    def __init__(self, env: Any) -> None:
        self._low, self._high, self._guess = -self.RANGE, self.RANGE, 0.0

    def reset(self, seed: int, env: Any) -> None:
        """Know nothing."""
        self._low, self._high, self._guess = -self.RANGE, self.RANGE, 0.0

    def act(self, observation: Any) -> Any:
        """Return the next guess."""
        hint = int(observation)
        if hint == 1:
            self._low = self._guess
        elif hint == 3:
            self._high = self._guess
        if hint != 2:
            self._guess = (self._low + self._high) / 2.0
        return np.array([self._guess], np.float32)


class KellyAgent:
    """Bets the fraction of the money by which heads are more likely than tails."""

    EDGE = 0.6

    def __init__(self, env: Any) -> None:
        self._most = int(env.action_space.n) - 1

    def act(self, observation: Any) -> int:
        """Return the bet in cents, no more than it takes to reach the cap."""
        wealth = float(observation[0][0])
        cap = (self._most + 1) / 100.0
        bet = min((2.0 * self.EDGE - 1.0) * wealth, cap - wealth)
        return min(max(1, round(100.0 * bet)), self._most)
