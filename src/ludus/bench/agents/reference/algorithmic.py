"""Machines that solve the tape tasks by moving a head, as a programmer would write them."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AdditionAgent",
    "CopyAgent",
    "DuplicatedInputAgent",
    "RepeatCopyAgent",
    "ReverseAgent",
]

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
