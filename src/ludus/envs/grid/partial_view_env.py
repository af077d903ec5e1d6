"""Shared code of the mazes seen from inside: their arguments, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ludus.envs.arguments import positive_int
from ludus.envs.grid.maps import UNSEEN
from ludus.envs.grid.maze_drawing import Scene
from ludus.envs.grid.maze_env import MazeEnv
from ludus.envs.grid.partial_view import KERNEL, VIEW, Params, world_cell

__all__ = ["PartialViewEnv"]


class PartialViewEnv(MazeEnv):
    """A maze seen by an agent that looks ahead.

    **Observations** are ``(7, 7, 3)`` uint8, by column, row and kind of number: a square of which
    the agent, at column 3 of the last row, sees what lies ahead (up), aside and beside it. The
    three numbers of a cell are what it holds (0 not seen, 1 nothing, 2 wall, 8 goal, 9 lava,
    10 the agent), its colour (1 green, 5 grey) and, at the agent's cell, its direction (0 right,
    1 down, 2 left, 3 up). Beyond the outer walls are walls. What walls hide is not seen, except in
    rooms without any.
    **Actions** are 0 turn left, 1 turn right, 2 go forward; 3 pick up, 4 drop, 5 toggle and 6 done
    do nothing here. Walls stop the agent.
    **Reward** is ``1 - 0.9 * steps / max_steps`` at the goal, else 0.
    **Ends** at the goal and in lava; the registered environments are truncated after
    ``4 * size * size`` steps.

    A seed and actions give what Minigrid's environments give, but for the form of the observation.
    There it is a dictionary with this image, in which the agent's cell holds (1, 0, 0), with the
    direction beside it and a text that says what to do.

    Args:
        size: Side of the maze, walls included.
        crossings: Number of rivers.
        obstacle: Kind of the rivers: wall or lava.
        start: (row, column) of the agent at the start, ``None`` to draw it and its direction.
        direction: The direction at the start.
        max_steps: Number of steps that scales the reward, ``None`` for ``4 * size * size``.
        render_mode: ``"human"``, ``"rgb_array"`` or ``"ansi"``.
    """

    kernel = KERNEL

    def __init__(
        self,
        size: int,
        crossings: int,
        obstacle: int,
        start: Sequence[int] | None,
        direction: int,
        max_steps: int | None,
        render_mode: str | None,
    ) -> None:
        row, column = (1, 1) if start is None else map(int, start)
        super().__init__(
            Params(
                size,
                crossings,
                obstacle,
                crossings == 0,
                start is None,
                row,
                column,
                direction,
                positive_int("max_steps", 4 * size**2 if max_steps is None else max_steps),
            ),
            (size, size),
            render_mode,
        )

    def scene(self) -> Scene:
        """Return the maze, the agent and what it sees."""
        state = self.state
        image = np.empty((VIEW, VIEW, 3), np.uint8)
        self.kernel.observation(self.params, state, image)
        seen = np.zeros(state.cells.shape, np.bool_)
        for across, down in np.argwhere(image[:, :, 0] != UNSEEN).tolist():
            row, column = world_cell(state, across, down)
            if 0 <= row < self.params.size and 0 <= column < self.params.size:
                seen[row, column] = True
        return Scene(state.cells, state.row, state.column, state.direction, seen)
