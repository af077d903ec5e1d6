"""A maze with a hidden goal, to be found once and then found again.

The task is that of T. Miconi, A. Rawal, J. Clune and K. Stanley, "Backpropamine: training
self-modifying neural networks with differentiable neuromodulated plasticity" (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ludus.envs.arguments import number, positive_int
from ludus.envs.grid.maps import EMPTY, GOAL, WALL, read_walls, step_from
from ludus.envs.grid.maze_drawing import Scene
from ludus.envs.grid.maze_env import MazeEnv
from ludus.kernel import Kernel
from ludus.kernel.random import integers
from ludus.spaces import Box, Discrete, Space

__all__ = ["KERNEL", "LAYOUTS", "MetaMazeEnv", "Params", "State"]

ACTIONS = 4
LAYOUTS = ("pillars", "rooms", "open")


class Params(NamedTuple):
    """One variant."""

    goal_reward: float
    wall_reward: float
    max_steps: int
    normalize_time: bool
    sight: int
    """How many cells away the agent sees walls."""
    start_row: int
    start_column: int
    walls: np.ndarray[Any, Any]


class State(NamedTuple):
    """Positions of agent and goal, and the last action and reward."""

    row: int
    column: int
    goal_row: int
    goal_column: int
    last_action: int
    last_reward: float
    steps: int


def another_cell(params: Params, row: int, column: int, rng: Any) -> tuple[int, int]:
    """Draw a free cell that is not the given one, each as likely as the others."""
    drawn_row, drawn_column = row, column
    while (drawn_row == row and drawn_column == column) or params.walls[drawn_row, drawn_column]:
        drawn_row = integers(rng, params.sight, params.walls.shape[0] - params.sight)
        drawn_column = integers(rng, params.sight, params.walls.shape[1] - params.sight)
    return drawn_row, drawn_column


def initial(params: Params, rng: Any) -> State:
    """Start in the middle; draw a goal elsewhere."""
    row, column = params.start_row, params.start_column
    goal_row, goal_column = another_cell(params, row, column, rng)
    return State(row, column, goal_row, goal_column, 0, 0.0, 0)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Step; from the goal go on at another cell."""
    row, column = step_from(state.row, state.column, action)
    earned = 0.0
    if params.walls[row, column]:
        row, column = state.row, state.column
        earned = params.wall_reward
    elif row == state.goal_row and column == state.goal_column:
        row, column = another_cell(params, row, column, rng)
        earned = params.goal_reward
    return State(row, column, state.goal_row, state.goal_column, action, earned, state.steps + 1)


def observation(params: Params, state: State, out: np.ndarray[Any, Any]) -> None:
    """Write the walls around the agent, its last action and reward, and the time."""
    after = out.shape[0] - ACTIONS - 2
    k = 0
    for row in range(state.row - params.sight, state.row + params.sight + 1):
        for column in range(state.column - params.sight, state.column + params.sight + 1):
            out[k] = params.walls[row, column]
            k += 1
    for action in range(ACTIONS):
        out[after + action] = action == state.last_action
    out[after + ACTIONS] = state.last_reward
    steps = min(state.steps, params.max_steps)
    time = 2.0 * steps / params.max_steps - 1.0 if params.normalize_time else float(steps)
    out[after + ACTIONS + 1] = time


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return the reward of the step."""
    return next_state.last_reward


def terminal(params: Params, state: State) -> bool:
    """Return false: only the time limit ends an episode."""
    return False


def valid(params: Params, state: State) -> bool:
    """Return whether both cells are on the map and the agent's is free; walls keep it inside."""
    rows, columns = params.walls.shape
    on_map = 0 <= state.goal_row < rows and 0 <= state.goal_column < columns
    on_map = on_map and 0 <= state.row < rows and 0 <= state.column < columns
    return on_map and not params.walls[state.row, state.column]


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the bits of walls and action, the reward and the time; and the four steps."""
    bits = (2 * params.sight + 1) ** 2 + ACTIONS
    rewards = (0.0, params.goal_reward, params.wall_reward)
    first, last = (-1.0, 1.0) if params.normalize_time else (0.0, float(params.max_steps))
    low = np.array([0.0] * bits + [min(rewards), first], np.float32)
    high = np.array([1.0] * bits + [max(rewards), last], np.float32)
    return Box(low, high, dtype=np.float32), Discrete(ACTIONS)


KERNEL = Kernel(
    "MetaMaze",
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


def layout(maze: str | Sequence[str], size: int) -> np.ndarray[Any, Any]:
    """Return the walls of a named or a given maze.

    Raises:
        ValueError: There is no such maze, or the size is not odd, or less than 5.
    """
    if not isinstance(maze, str):
        return read_walls(maze)
    if maze not in LAYOUTS:
        raise ValueError(
            f"There is no maze {maze!r}; choose one of {', '.join(LAYOUTS)}, or pass the rows of a "
            "map."
        )
    if positive_int("size", size) % 2 != 1 or size < 5:
        raise ValueError(f"size is {size!r}; expected an odd number from 5 on.")
    inner = np.zeros((size, size), np.uint8)
    if maze == "pillars":
        inner[1::2, 1::2] = 1
    elif maze == "rooms":
        middle, doors = size // 2, [size // 4, size - 1 - size // 4]
        inner[middle, :] = inner[:, middle] = 1
        inner[middle, doors] = inner[doors, middle] = 0
    return np.pad(inner, 1, constant_values=1)


class MetaMazeEnv(MazeEnv):
    """Find a goal that cannot be seen, then use what was learnt to come back to it.

    A goal is drawn for the episode. Reaching it pays ``goal_reward`` and puts the agent on another
    free cell at random; the goal stays where it is. A policy without memory can do no better than
    search again and again.

    **Observations** are float32: the walls around the agent, row by row, 1 for a wall; the last
    action as four bits (action 0 before the first step); the last reward; the time.
    **Actions** are 0 up, 1 right, 2 down, 3 left. A step into a wall leaves the agent where it is
    and pays ``wall_reward``.
    **Ends**: never by itself; the registered environment is truncated after 200 steps.

    Maze, moves, rewards and observation are those of gymnax's ``MetaMaze-misc``. Different are: the
    agent is never put on the goal, at the start or later (which in gymnax pays nothing, and later
    on ends the episode), and the time runs from -1 to 1 over ``max_steps``, where gymnax counts
    steps, or, if asked for, from -1 to 3 over 200. ``normalize_time=False`` counts steps here too.

    Args:
        maze: ``"pillars"`` (a pillar at every second cell of every second row), ``"rooms"`` (four,
            joined by doorways), ``"open"``, or the rows of a map, surrounded by walls (``#``).
        size: Side of a named maze without its surrounding wall; odd. Maps have their own.
        view_size: Side of the square the agent sees, of which it is the centre; odd.
        goal_reward: Reward for reaching the goal.
        wall_reward: Reward for bumping into a wall.
        normalize_time: Whether time runs from -1 to 1 instead of counting steps.
        max_steps: When time ends; from there on it stands still. Time limits are set by
            ``max_episode_steps``.
        render_mode: ``"human"``, ``"rgb_array"`` or ``"ansi"``; these show the goal.

    Raises:
        ValueError: There is no such maze, or a number is out of its range.
    """

    kernel = KERNEL

    def __init__(
        self,
        maze: str | Sequence[str] = "pillars",
        size: int = 9,
        view_size: int = 3,
        goal_reward: float = 10.0,
        wall_reward: float = 0.0,
        normalize_time: bool = True,
        max_steps: int = 200,
        render_mode: str | None = None,
    ) -> None:
        if positive_int("view_size", view_size) % 2 != 1 or view_size < 3:
            raise ValueError(f"view_size is {view_size!r}; expected an odd number from 3 on.")
        sight = view_size // 2
        # With a border as wide as the view, the view never leaves the map.
        walls = np.pad(layout(maze, size), sight - 1, constant_values=1)
        cells = np.argwhere(walls == 0)
        middle = (np.array(walls.shape) - 1) / 2
        start = cells[np.argmin(((cells - middle) ** 2).sum(axis=1))]
        super().__init__(
            Params(
                number("goal_reward", goal_reward),
                number("wall_reward", wall_reward),
                positive_int("max_steps", max_steps),
                bool(normalize_time),
                sight,
                int(start[0]),
                int(start[1]),
                walls,
            ),
            walls.shape,
            render_mode,
        )

    def scene(self) -> Scene:
        """Return the maze, the goal, and the agent with the square it sees."""
        state, sight = self.state, self.params.sight
        cells = np.where(self.params.walls, WALL, EMPTY)
        cells[state.goal_row, state.goal_column] = GOAL
        seen = np.zeros(cells.shape, np.bool_)
        rows = slice(state.row - sight, state.row + sight + 1)
        columns = slice(state.column - sight, state.column + sight + 1)
        seen[rows, columns] = True
        return Scene(cells, state.row, state.column, seen=seen)
