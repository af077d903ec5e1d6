"""Frozen Lake: cross the ice to the goal without falling into a hole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ludus.core.colorize import colorize
from ludus.envs.arguments import probability
from ludus.envs.toy_text.frozen_lake_drawing import CELL, draw
from ludus.envs.toy_text.frozen_lake_maps import MAPS, generate_random_map, is_valid, read_map
from ludus.envs.toy_text.tabular import Game, TabularEnv, Transitions
from ludus.envs.view import View

__all__ = [
    "DOWN",
    "LEFT",
    "MAPS",
    "RIGHT",
    "UP",
    "FrozenLakeEnv",
    "generate_random_map",
    "is_valid",
]

LEFT, DOWN, RIGHT, UP = range(4)
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))
NAMES = ("Left", "Down", "Right", "Up")


def table_of(
    desc: np.ndarray[Any, Any],
    slips: Sequence[tuple[int, float]],
    reward_schedule: Sequence[float],
) -> Transitions:
    """Return the transitions of a map.

    Args:
        desc: The map.
        slips: Numbers of quarter turns by which a step may deviate, and their probabilities.
        reward_schedule: Reward for reaching a goal, a hole, and any other cell.
    """
    rows, cols = desc.shape
    letters = [[bytes(letter) for letter in row] for row in desc]
    pay = dict(zip((b"G", b"H"), reward_schedule, strict=False))

    def reach(row: int, col: int, heading: int) -> tuple[int, float, bool]:
        row = min(max(row + MOVES[heading][0], 0), rows - 1)
        col = min(max(col + MOVES[heading][1], 0), cols - 1)
        letter = letters[row][col]
        return row * cols + col, pay.get(letter, reward_schedule[2]), letter in pay

    table: Transitions = {}
    for row in range(rows):
        for col in range(cols):
            s = row * cols + col
            if letters[row][col] in pay:
                table[s] = {a: [(1.0, s, 0, True)] for a in range(4)}
            else:
                table[s] = {
                    a: [(chance, *reach(row, col, (a + turn) % 4)) for turn, chance in slips]
                    for a in range(4)
                }
    return table


def new_game(
    letters: bytes,
    shape: tuple[int, int],
    slips: tuple[tuple[int, float], ...],
    goal: float,
    hole: float,
    other: float,
) -> Game:
    """Return the game on a map of these letters; the other arguments are :func:`table_of`'s."""
    desc = np.frombuffer(letters, "c").reshape(shape)
    starts = (desc == b"S").astype(np.float64).ravel()
    starts /= starts.sum()
    return Game.of(table_of(desc, slips, (goal, hole, other)), starts)


# Cached by type as well, because rewards of 1 and 1.0 differ.
game_of = lru_cache(maxsize=8, typed=True)(new_game)
"""Cached :func:`new_game`, which takes most of the time of ``make``."""


def text_of(desc: np.ndarray[Any, Any], s: int, lastaction: int | None) -> str:
    """Return the last action's name and the map, with the player's cell on red ground."""
    cells = [[letter.decode() for letter in row] for row in desc.tolist()]
    row, col = divmod(s, desc.shape[1])
    cells[row][col] = colorize(cells[row][col], "red", highlight=True)
    head = "" if lastaction is None else f"  ({NAMES[lastaction]})"
    return "\n".join([head, *("".join(line) for line in cells), ""])


class FrozenLakeEnv(TabularEnv):
    """Cross slippery ice, on which steps may go in another direction.

    The observation is ``row * ncol + col``. Actions are 0 left, 1 down, 2 right, 3 up; walking
    off the map leaves you where you are. Reaching a goal pays 1 and ends the episode, falling into
    a hole pays 0 and ends it. The episode starts on an S cell, each as likely as the others.
    ``info["prob"]`` is the probability of the outcome that occurred.

    Args:
        render_mode: ``human``, ``ansi`` or ``rgb_array``.
        desc: Rows of a map: S start, G goal, H hole; any other letter is frozen.
        map_name: A map of :data:`MAPS`, if ``desc`` is not given; ``None`` for a random one.
        is_slippery: Whether steps may turn to either side.
        success_rate: How likely a step goes where it should on slippery ice; the two sides share
            the rest.
        reward_schedule: Reward for reaching a goal, a hole, and any other cell.

    Versions: v1 has thresholds of 0.70 (4x4) and 0.85 (8x8). v0 is the same game with classic Gym's
    first thresholds, 0.78 and 0.99, which no policy reaches within the time limit: the optimum is
    0.744 in 100 steps and 0.913 in 200. They are kept as they were.

    Raises:
        KeyError: There is no map of that name.
        ValueError: The map cannot be read, or a number is out of range; the message says which.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(
        self,
        render_mode: str | None = None,
        desc: Sequence[str] | None = None,
        map_name: str | None = "4x4",
        is_slippery: bool = True,
        success_rate: float = 1.0 / 3.0,
        reward_schedule: Sequence[float] = (1, 0, 0),
    ) -> None:
        success_rate = probability("success_rate", success_rate)
        if len(reward_schedule) != 3:
            raise ValueError(
                "reward_schedule holds three numbers (goal, hole, frozen), got "
                f"{reward_schedule!r}."
            )
        self.desc = read_map(desc, map_name)
        self.nrow, self.ncol = self.desc.shape
        self.reward_range = (min(reward_schedule), max(reward_schedule))
        astray = (1.0 - success_rate) / 2.0
        slips = ((-1, astray), (0, success_rate), (1, astray)) if is_slippery else ((0, 1.0),)
        plain = all(type(pay) in (int, float) for pay in reward_schedule)
        make_game = game_of if plain else new_game
        game = make_game(self.desc.tobytes(), self.desc.shape, slips, *reward_schedule)
        width, height = min(CELL * self.ncol, 512), min(CELL * self.nrow, 512)
        self.cell_size = (width // self.ncol, height // self.nrow)
        super().__init__(game.params, game, View(width, height), render_mode)

    def render(self) -> np.ndarray[Any, Any] | str | None:
        """Return the map as text or picture, or show it in a window."""
        return self._view.render(
            self,
            draw=lambda canvas: draw(canvas, self.desc, self.s, self.cell_size),
            text=lambda: text_of(self.desc, self.s, self.lastaction),
        )
