"""Cliff Walking: along a cliff's edge to the goal (Sutton and Barto, example 6.6)."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np

from ludus.envs.toy_text.cliffwalking_drawing import CELL, draw
from ludus.envs.toy_text.tabular import Game, TabularEnv, Transitions
from ludus.envs.view import View

__all__ = ["DOWN", "LEFT", "POSITION_MAPPING", "RIGHT", "UP", "CliffWalkingEnv"]

UP, RIGHT, DOWN, LEFT = range(4)
POSITION_MAPPING = {UP: [-1, 0], RIGHT: [0, 1], DOWN: [1, 0], LEFT: [0, -1]}
ROWS, COLS = 4, 12
START, GOAL = 36, 47


def outcome_of(s: int, heading: int) -> tuple[int, int, bool]:
    """Return next state, reward and end for a step from cell ``s``."""
    row, col = divmod(s, COLS)
    row = min(max(row + POSITION_MAPPING[heading][0], 0), ROWS - 1)
    col = min(max(col + POSITION_MAPPING[heading][1], 0), COLS - 1)
    reached = row * COLS + col
    if START < reached < GOAL:
        return START, -100, False
    return reached, -1, reached == GOAL


def table_of(is_slippery: bool) -> Transitions:
    """Return the transitions; slippery steps turn to either side as often as they go straight."""
    turns = (-1, 0, 1) if is_slippery else (0,)
    return {
        s: {
            a: [(1 / len(turns), *outcome_of(s, (a + turn) % 4)) for turn in turns]
            for a in range(4)
        }
        for s in range(ROWS * COLS)
    }


@cache
def game_of(is_slippery: bool) -> Game:
    """Return the game."""
    starts = np.zeros(ROWS * COLS)
    starts[START] = 1.0
    return Game.of(table_of(is_slippery), starts)


def text_of(s: int) -> str:
    """Return the grid: ``x`` the walker, ``C`` the cliff, ``T`` the goal, ``o`` the rest."""
    cells = ["o"] * START + ["o"] + ["C"] * (GOAL - START - 1) + ["T"]
    cells[s] = "x"
    rows = ["  ".join(cells[i : i + COLS]) for i in range(0, ROWS * COLS, COLS)]
    return "\n".join(rows) + "\n\n"


class CliffWalkingEnv(TabularEnv):
    """Walk a grid of 4 by 12 cells from the bottom left corner to the bottom right one.

    The observation is ``12 * row + column``: the start is 36, the goal 47. Actions are 0 up,
    1 right, 2 down, 3 left; walking off the grid leaves you where you are. A step costs 1; the
    cliff between start and goal costs 100 and puts you back at the start, but does not end the
    episode. Only the goal does. ``info["prob"]`` is the probability of the outcome that occurred.

    Args:
        render_mode: ``human``, ``rgb_array`` or ``ansi``.
        is_slippery: Whether steps go straight, left or right with probability 1/3 each.

    Versions: v1 has ``is_slippery``, which ``CliffWalkingSlippery-v1`` sets; v0 is the game
    without it.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = ("_calculate_transition_prob", "_limit_coordinates")

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array", "ansi"],
        "render_fps": 4,
    }

    def __init__(self, render_mode: str | None = None, is_slippery: bool = False) -> None:
        self.shape = (ROWS, COLS)
        self.start_state_index = START
        self.is_slippery = is_slippery
        self.cell_size = (CELL, CELL)
        game = game_of(bool(is_slippery))
        super().__init__(game.params, game, View(COLS * CELL, ROWS * CELL), render_mode)

    def render(self) -> np.ndarray[Any, Any] | str | None:
        """Return the grid as text or picture, or show it in a window."""
        return self._view.render(
            self,
            draw=lambda canvas: draw(canvas, self.shape, self.s),
            text=lambda: text_of(self.s),
        )
