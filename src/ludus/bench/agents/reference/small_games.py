"""Reference agents of the classic control problems, the toy text games and the tape tasks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = [
    "AcrobotAgent",
    "AdditionAgent",
    "BisectingAgent",
    "BlackjackAgent",
    "CartPoleAgent",
    "CopyAgent",
    "DuplicatedInputAgent",
    "KellyAgent",
    "MountainCarAgent",
    "MountainCarContinuousAgent",
    "NChainAgent",
    "PendulumAgent",
    "PlanningAgent",
    "RepeatCopyAgent",
    "ReverseAgent",
    "RouletteAgent",
    "solve",
]


class CartPoleAgent:
    """Pushes to where the pole falls, and a little towards the middle of the track."""

    def __init__(self, env: Any) -> None:
        self._as_array = env.action_space.shape == (1,)

    def act(self, observation: Any) -> Any:
        """Return the push."""
        x, speed, angle, turning = (float(number) for number in observation)
        return int(0.05 * x + 0.2 * speed + 2.0 * angle + 1.0 * turning > 0)


class MountainCarAgent:
    """Pushes the way the car moves, which adds energy in every swing."""

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> int:
        """Return the push."""
        return 2 if observation[1] >= 0 else 0


class MountainCarContinuousAgent:
    """Pushes the way the car moves, no harder than it takes."""

    FORCE = 0.7

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> Any:
        """Return the force."""
        return np.array([self.FORCE if observation[1] >= 0 else -self.FORCE], np.float32)


class PendulumAgent:
    """Pumps energy until the pendulum can be caught, then holds it upright."""

    GRAVITY, STRENGTH = 10.0, 2.0

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> Any:
        """Return the torque."""
        cosine, sine, speed = (float(number) for number in observation)
        angle = math.atan2(sine, cosine)
        if cosine > 0.85 and abs(speed) < 4.0:
            torque = -12.0 * angle - 3.0 * speed
        else:
            # Of a rod of length and mass 1: at rest upright it is zero.
            energy = speed * speed / 6.0 + self.GRAVITY / 2.0 * (cosine - 1.0)
            torque = -math.copysign(self.STRENGTH, energy * (speed or 1.0))
        limited = min(max(torque, -self.STRENGTH), self.STRENGTH)
        return np.array([limited], np.float32)


class AcrobotAgent:
    """Turns the joint the way it is turning, which swings both links up."""

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> int:
        """Return the torque."""
        return 2 if observation[5] > 0 else 0


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


LEFT, RIGHT, UP, DOWN = range(4)


class _TapeAgent:
    """Knows how the end of the tape looks."""

    def __init__(self, env: Any) -> None:
        self._blank = int(env.observation_space.n) - 1
        self.reset(0, env)

    def reset(self, seed: int, env: Any) -> None:
        """Start at the left."""


class CopyAgent(_TapeAgent):
    """Writes what it reads, and goes on."""

    def act(self, observation: Any) -> Any:
        """Return move, whether to write, and the symbol."""
        return RIGHT, 1, min(int(observation), self._blank - 1)


class DuplicatedInputAgent(_TapeAgent):
    """Writes every second symbol."""

    def reset(self, seed: int, env: Any) -> None:
        """Start with one to write."""
        self._write = 0

    def act(self, observation: Any) -> Any:
        """Return move, whether to write, and the symbol."""
        self._write = 1 - self._write
        return RIGHT, self._write, min(int(observation), self._blank - 1)


class ReverseAgent(_TapeAgent):
    """Goes to the end, and writes on the way back."""

    def reset(self, seed: int, env: Any) -> None:
        """Look for the end first."""
        self._back = False

    def act(self, observation: Any) -> Any:
        """Return move, whether to write, and the symbol."""
        symbol = int(observation)
        if not self._back:
            self._back = symbol == self._blank
            return (LEFT if self._back else RIGHT), 0, 0
        return LEFT, 1, min(symbol, self._blank - 1)


class RepeatCopyAgent(_TapeAgent):
    """Writes along three passes, turning round at either end."""

    def reset(self, seed: int, env: Any) -> None:
        """Begin to the right."""
        self._move = RIGHT

    def act(self, observation: Any) -> Any:
        """Return move, whether to write, and the symbol."""
        symbol = int(observation)
        if symbol == self._blank:
            self._move = LEFT if self._move == RIGHT else RIGHT
            return self._move, 0, 0
        return self._move, 1, symbol


class AdditionAgent(_TapeAgent):
    """Adds column by column, down the odd ones and up the even ones, and keeps the carry."""

    def __init__(self, env: Any) -> None:
        self._rows = int(env.unwrapped.params.rows)
        super().__init__(env)

    def reset(self, seed: int, env: Any) -> None:
        """Carry nothing."""
        self._sum, self._read, self._move = 0, 0, DOWN

    def act(self, observation: Any) -> Any:
        """Return move, whether to write, and the digit."""
        digit = int(observation)
        if digit == self._blank:
            return RIGHT, 1, self._sum % self._blank
        self._sum += digit
        self._read += 1
        if self._read % self._rows:
            return self._move, 0, 0
        self._move = UP if self._move == DOWN else DOWN
        written = self._sum % self._blank
        self._sum //= self._blank
        return RIGHT, 1, written
