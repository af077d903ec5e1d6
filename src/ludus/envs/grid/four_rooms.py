"""Four rooms joined by doorways, with random moves.

The rooms are those of R. Sutton, D. Precup and S. Singh, "Between MDPs and semi-MDPs: A framework
for temporal abstraction in reinforcement learning" (1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ludus.envs.arguments import probability
from ludus.envs.grid.maps import EMPTY, GOAL, WALL, check_cell, read_walls, step_from
from ludus.envs.grid.maze_drawing import Scene
from ludus.envs.grid.maze_env import MazeEnv
from ludus.kernel import Kernel
from ludus.kernel.random import integers, random
from ludus.spaces import Box, Discrete, Space

__all__ = [
    "KERNEL",
    "MAP",
    "VISUAL_KERNEL",
    "FourRoomsEnv",
    "FourRoomsVisualEnv",
    "Params",
    "State",
]

MAP = (
    "#############",
    "#.....#.....#",
    "#.....#.....#",
    "#...........#",
    "#.....#.....#",
    "#.....#.....#",
    "##.####.....#",
    "#.....###.###",
    "#.....#.....#",
    "#.....#.....#",
    "#...........#",
    "#.....#.....#",
    "#############",
)
SIDE = len(MAP)
WALL_BITS = tuple(sum((letter == "#") << k for k, letter in enumerate(row)) for row in MAP)
"""The walls of each row as bits, the first column's the lowest."""
NOWHERE = (0, 0)
"""A cell of the wall, which means that a reset draws the position."""
PLANES = 3
WALLS_PLANE, AGENT_PLANE, GOAL_PLANE = range(PLANES)


class Params(NamedTuple):
    """One variant."""

    fail_prob: float
    """Probability that a step goes in one of the other three directions."""
    start_row: int
    start_column: int
    goal_row: int
    goal_column: int


class State(NamedTuple):
    """Where the agent and the goal are."""

    row: int
    column: int
    goal_row: int
    goal_column: int


def is_wall(row: int, column: int) -> bool:
    """Return whether a cell is a wall."""
    return (WALL_BITS[row] >> column) & 1 == 1


def another_cell(row: int, column: int, rng: Any) -> tuple[int, int]:
    """Draw a free cell that is not the given one, each as likely as the others."""
    drawn_row, drawn_column = row, column
    while is_wall(drawn_row, drawn_column) or (drawn_row == row and drawn_column == column):
        drawn_row = integers(rng, 1, SIDE - 1)
        drawn_column = integers(rng, 1, SIDE - 1)
    return drawn_row, drawn_column


def initial(params: Params, rng: Any) -> State:
    """Place goal and agent; positions that are not fixed are drawn, the goal's first."""
    row, column = params.start_row, params.start_column
    goal_row, goal_column = params.goal_row, params.goal_column
    if goal_row == 0:
        goal_row, goal_column = another_cell(row, column, rng)
    if row == 0:
        row, column = another_cell(goal_row, goal_column, rng)
    return State(row, column, goal_row, goal_column)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Step in the given direction, or in another one that a random number determines."""
    luck = random(rng)
    third = params.fail_prob / 3.0
    turns = int(luck < third) + int(luck < 2.0 * third) + int(luck < params.fail_prob)
    row, column = step_from(state.row, state.column, (action + turns) % 4)
    if is_wall(row, column):
        row, column = state.row, state.column
    return State(row, column, state.goal_row, state.goal_column)


def observation(params: Params, state: State) -> tuple[int, int, int, int]:
    """Return the positions of agent and goal."""
    return state.row, state.column, state.goal_row, state.goal_column


def visual_observation(params: Params, state: State, out: np.ndarray[Any, Any]) -> None:
    """Write walls, agent and goal, each in its own plane."""
    for row in range(SIDE):
        walls = WALL_BITS[row]
        for column in range(SIDE):
            out[row, column, WALLS_PLANE] = (walls >> column) & 1
            out[row, column, AGENT_PLANE] = False
            out[row, column, GOAL_PLANE] = False
    out[state.row, state.column, AGENT_PLANE] = True
    out[state.goal_row, state.goal_column, GOAL_PLANE] = True


def terminal(params: Params, state: State) -> bool:
    """Return whether the agent is at the goal."""
    return state.row == state.goal_row and state.column == state.goal_column


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return 1 at the goal."""
    return 1.0 if terminal(params, next_state) else 0.0


def valid(params: Params, state: State) -> bool:
    """Return whether both cells are on the map and the agent's is free; walls keep it inside."""
    on_map = 0 <= state.goal_row < SIDE and 0 <= state.goal_column < SIDE
    on_map = on_map and 0 <= state.row < SIDE and 0 <= state.column < SIDE
    return on_map and not is_wall(state.row, state.column)


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return two positions, and the four steps."""
    return Box(1.0, SIDE - 2.0, (4,), np.float32), Discrete(4)


def visual_spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return planes by row, column and kind, and the four steps."""
    return Box(0.0, 1.0, (SIDE, SIDE, PLANES), np.bool_), Discrete(4)


KERNEL = Kernel(
    "FourRooms",
    Params,
    State,
    initial,
    transition,
    observation,
    reward,
    terminal,
    spaces,
    valid=valid,
)
VISUAL_KERNEL = Kernel(
    "FourRoomsVisual",
    Params,
    State,
    initial,
    transition,
    visual_observation,
    reward,
    terminal,
    visual_spaces,
    valid=valid,
)


class FourRoomsEnv(MazeEnv):
    """Find a goal in four rooms joined by four doorways.

    **Observations** are four numbers: row and column of the agent, row and column of the goal,
    counted from the top left with the surrounding wall as 0.
    **Actions** are 0 up, 1 right, 2 down, 3 left. With probability ``fail_prob`` a
    step goes in one of the other three directions, each as likely as the others. A step into a
    wall leaves the agent where it is.
    **Reward** is 1 at the goal, else 0; reaching it ends the episode. The registered environments
    are truncated after 500 steps.

    Map, actions, probabilities, start and goal are those of gymnax's ``FourRooms-misc``. Different
    are: a drawn goal is never where the agent starts, and one random number decides both whether
    and where a step goes astray.

    Args:
        fail_prob: Probability that a step goes in another direction; 1/3 in the paper.
        goal: (row, column) of the goal; ``None`` draws one of the 104 free cells at each reset.
        start: (row, column) of the agent at the start; ``None`` draws one at each reset.
        render_mode: ``"human"``, ``"rgb_array"`` or ``"ansi"``.

    Raises:
        ValueError: ``fail_prob`` is not a probability, a position is not a free cell, or both
            positions are equal.
    """

    kernel = KERNEL

    def __init__(
        self,
        fail_prob: float = 1 / 3,
        goal: Sequence[int] | None = (8, 9),
        start: Sequence[int] | None = (4, 1),
        render_mode: str | None = None,
    ) -> None:
        walls = read_walls(MAP)
        goal_cell = NOWHERE if goal is None else check_cell("goal", goal, walls)
        start_cell = NOWHERE if start is None else check_cell("start", start, walls)
        if goal_cell == start_cell != NOWHERE:
            raise ValueError(f"start and goal are both {goal_cell}; choose two cells.")
        params = Params(probability("fail_prob", fail_prob), *start_cell, *goal_cell)
        super().__init__(params, (SIDE, SIDE), render_mode)

    def scene(self) -> Scene:
        """Return the rooms, the goal and the agent."""
        state = self.state
        cells = np.where(read_walls(MAP), WALL, EMPTY)
        cells[state.goal_row, state.goal_column] = GOAL
        return Scene(cells, state.row, state.column)


class FourRoomsVisualEnv(FourRoomsEnv):
    """:class:`FourRoomsEnv`, seen from above.

    **Observations** are booleans by row, column and plane: walls, agent, goal. gymnax's visual
    option has the first two planes, and its agent's plane has rows and columns exchanged.
    """

    kernel = VISUAL_KERNEL
