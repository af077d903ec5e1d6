"""The interfaces of rules and positions."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ludus.spaces import Box

__all__ = ["Position", "Rules"]


class Position(Protocol):
    """A game between player 0, who moves first, and player 1."""

    @property
    def rules(self) -> Rules:
        """The rules by which it is played."""

    @property
    def history(self) -> list[int]:
        """Moves and dice since the start, by which a position is saved."""

    @property
    def last(self) -> int | None:
        """The last move, or throw of dice; ``None`` at the start."""

    @property
    def to_move(self) -> int:
        """The player whose turn it is; at the end, any."""

    @property
    def over(self) -> bool:
        """Whether the game has ended."""

    def legal(self) -> list[int]:
        """Return the moves allowed, in ascending order; none at the end."""

    def mask(self) -> NDArray[np.int8]:
        """Return 1 for each legal move and 0 for the others, as a read-only array."""

    def play(self, action: int, rng: np.random.Generator) -> None:
        """Make a legal move; dice that follow it are thrown with ``rng``."""

    def results(self) -> tuple[float, float]:
        """Return each player's result: 1, -1 or 0, or more in some games."""

    def observation(self, player: int) -> NDArray[Any]:
        """Return a new array of the board as a player sees it."""

    def squares(self) -> list[str]:
        """Return the rows of the board, from the top, one character for each field.

        ``.`` is empty, ``x`` is player 0's and ``o`` player 1's; games whose pieces differ have
        letters of their own.
        """

    def text(self) -> str:
        """Return the board as lines of text."""


class Rules(Protocol):
    """A game."""

    name: str
    colors: tuple[str, str]
    """Of player 0, who moves first, and player 1."""
    moves: int
    """Number of moves; an environment adds resigning beyond it."""
    pass_move: int | None
    observation_space: Box

    def start(self, rng: np.random.Generator) -> Position:
        """Return the first position."""

    def resume(self, history: list[int]) -> Position:
        """Return the position after a history.

        Raises:
            ValueError: The history is not one of this game.
        """
