"""Mazes seen from inside: an agent with a heading, which sees only what lies before it.

The rules are those of the environments Empty and Crossing of Minigrid: M. Chevalier-Boisvert et
al., "Minigrid & Miniworld: Modular & Customizable Reinforcement Learning Environments for
Goal-Oriented Tasks" (2023), in version 3.2.0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.envs.grid.maps import AGENT, EMPTY, GOAL, LAVA, UNSEEN, WALL
from ludus.envs.grid.rivers import cross_rivers, places_along
from ludus.kernel import Kernel
from ludus.kernel.random import integers
from ludus.spaces import Box, Discrete, Space

__all__ = ["FORWARD", "KERNEL", "LEFT", "RIGHT", "VIEW", "Params", "State", "world_cell"]

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)
VIEW = 7
MIDDLE, LAST = VIEW // 2, VIEW - 1
ALL_BITS = 2**VIEW - 1
GREEN, GREY = 1, 5


class Params(NamedTuple):
    """One variant."""

    size: int
    crossings: int
    """How many rivers there are, and so how many openings."""
    obstacle: int
    """Kind of the rivers: wall or lava."""
    see_through: bool
    """Whether walls hide nothing."""
    draw_start: bool
    start_row: int
    start_column: int
    start_direction: int
    max_steps: int
    """Number of steps that scales the reward."""


class State(NamedTuple):
    """The agent, the steps made, and the maze."""

    row: int
    column: int
    direction: int
    """0 right, 1 down, 2 left, 3 up."""
    steps: int
    cells: np.ndarray[Any, Any]
    """What each cell holds, by row and column."""


def initial(params: Params, state: State, rng: Any) -> State:
    """Build the goal in the far corner, the rivers and the walls; then place the agent."""
    last = params.size - 1
    for row in range(params.size):
        for column in range(params.size):
            state.cells[row, column] = EMPTY
    state.cells[last - 1, last - 1] = GOAL
    if params.crossings > 0:
        cross_rivers(state.cells, params.crossings, params.obstacle, rng)
    for k in range(params.size):
        state.cells[0, k] = WALL
        state.cells[last, k] = WALL
        state.cells[k, 0] = WALL
        state.cells[k, last] = WALL
    row, column, direction = params.start_row, params.start_column, params.start_direction
    if params.draw_start:
        column = integers(rng, 0, params.size)
        row = integers(rng, 0, params.size)
        while state.cells[row, column] != EMPTY:
            column = integers(rng, 0, params.size)
            row = integers(rng, 0, params.size)
        direction = integers(rng, 0, 4)
    return State(row, column, direction, 0, state.cells)


def rightward(direction: int) -> int:
    """Return by how many columns a step forward goes right."""
    return int(direction == 0) - int(direction == 2)


def downward(direction: int) -> int:
    """Return by how many rows a step forward goes down."""
    return int(direction == 1) - int(direction == 3)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Turn, or go forward where no wall is; nothing can be carried, opened or done."""
    row, column, direction = state.row, state.column, state.direction
    if action == LEFT:
        direction = (direction + 3) % 4
    elif action == RIGHT:
        direction = (direction + 1) % 4
    elif action == FORWARD:
        next_row, next_column = row + downward(direction), column + rightward(direction)
        if state.cells[next_row, next_column] != WALL:
            row, column = next_row, next_column
    return State(row, column, direction, state.steps + 1, state.cells)


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return up to 1 for a step onto the goal, less the later it comes."""
    stayed = state.row == next_state.row and state.column == next_state.column
    if stayed or next_state.cells[next_state.row, next_state.column] != GOAL:
        return 0.0
    return 1.0 - 0.9 * (next_state.steps / params.max_steps)


def terminal(params: Params, state: State) -> bool:
    """Return whether the agent is at the goal or in lava."""
    cell = state.cells[state.row, state.column]
    return bool(cell in (GOAL, LAVA))


def world_cell(state: State, across: int, down: int) -> tuple[int, int]:
    """Return row and column of a cell of the view: forward is up, the agent below the middle."""
    forward, aside = LAST - down, across - MIDDLE
    right, below = rightward(state.direction), downward(state.direction)
    return (
        state.row + below * forward + right * aside,
        state.column + right * forward - below * aside,
    )


def spread(lit: int, clear: int) -> tuple[int, int]:
    """Propagate visibility along a row of the view, and from there to the next row.

    A visible cell that does not block makes its neighbours in the row visible, going right and then
    left, and the cells ahead of those that it passes. Rows are ints whose bits are cells; the reach
    through free cells is doubled three times instead of going cell by cell.

    Returns:
        The lit cells of the row, and of the row ahead.
    """
    passing = lit & clear
    passing |= (passing << 1) & clear
    two = clear & (clear << 1)
    passing |= (passing << 2) & two
    passing |= (passing << 4) & two & (two << 2)
    passing &= ALL_BITS >> 1
    lit |= passing << 1
    ahead = passing | (passing << 1)

    passing = lit & clear
    passing |= (passing >> 1) & clear
    two = clear & (clear >> 1)
    passing |= (passing >> 2) & two
    passing |= (passing >> 4) & two & (two >> 2)
    passing &= ALL_BITS - 1
    lit |= passing >> 1
    ahead |= passing | (passing >> 1)
    return lit, ahead


def observation(params: Params, state: State, out: np.ndarray[Any, Any]) -> None:
    """Write the cells before the agent, nearest first, without those hidden by walls."""
    cells = state.cells
    lit = ALL_BITS if params.see_through else 1 << MIDDLE
    right, below = rightward(state.direction), downward(state.direction)
    for down in range(LAST, -1, -1):
        row, column = world_cell(state, 0, down)
        clear = 0
        for across in range(VIEW):
            inside = 0 <= row < cells.shape[0] and 0 <= column < cells.shape[1]
            kind = int(cells[row, column]) if inside else WALL
            out[across, down, 0] = kind
            out[across, down, 1] = GREY if kind == WALL else GREEN if kind == GOAL else 0
            out[across, down, 2] = 0
            clear |= (kind != WALL) << across
            row += right
            column -= below
        if not params.see_through:
            seen, lit = spread(lit, clear)
            for across in range(VIEW):
                if not (seen >> across) & 1:
                    out[across, down, 0] = UNSEEN
                    out[across, down, 1] = 0
    out[MIDDLE, LAST, 0] = AGENT
    out[MIDDLE, LAST, 1] = 0
    out[MIDDLE, LAST, 2] = state.direction


def valid(params: Params, state: State) -> bool:
    """Return whether the agent has a direction and is inside a maze with walls all around."""
    last = params.size - 1
    if not (0 < state.row < last and 0 < state.column < last and 0 <= state.direction < 4):
        return False
    for k in range(params.size):
        if state.cells[0, k] != WALL or state.cells[last, k] != WALL:
            return False
        if state.cells[k, 0] != WALL or state.cells[k, last] != WALL:
            return False
    return True


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the view by column, row and kind of number; and the seven actions."""
    return Box(0, 255, (VIEW, VIEW, 3), np.uint8), Discrete(7)


def state_arrays(params: Params) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Return the shape of the maze, and a dtype that holds its cells and the numbers of rivers."""
    largest = max(LAVA, 2 * places_along(params.size) - 1)
    return {"cells": ((params.size, params.size), np.min_scalar_type(largest))}


KERNEL = Kernel(
    name="PartialViewMaze",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
    state_arrays=state_arrays,
    valid=valid,
)
