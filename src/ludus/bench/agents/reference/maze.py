"""Walkers of mazes: they keep a map, and go the shortest way on it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ludus.envs.grid.four_rooms import AGENT_PLANE, GOAL_PLANE, MAP
from ludus.envs.grid.maps import GOAL, LAVA, UNSEEN, WALL, read_walls, step_from
from ludus.envs.grid.partial_view import FORWARD, LEFT, RIGHT, VIEW

__all__ = ["ExploringAgent", "FourRoomsAgent", "MetaMazeAgent"]

Cell = tuple[int, int]


def first_step(
    start: Cell, is_goal: Callable[[Cell], bool], is_free: Callable[[Cell], bool]
) -> int | None:
    """Return the first step (0 up, 1 right, 2 down, 3 left) of a shortest way, if there is one."""
    seen, queue = {start}, deque([(start, -1)])
    while queue:
        cell, first = queue.popleft()
        if first >= 0 and is_goal(cell):
            return first
        for step in range(4):
            after = step_from(*cell, step)
            # The goal counts as free: it may be a cell that nothing is known of.
            if after not in seen and (is_goal(after) or is_free(after)):
                seen.add(after)
                queue.append((after, step if first < 0 else first))
    return None


class FourRoomsAgent:
    """Goes the shortest way to the goal, from wherever it strays to."""

    def __init__(self, env: Any) -> None:
        self._walls = read_walls(MAP)
        self._steps: dict[tuple[Cell, Cell], int] = {}

    def act(self, observation: Any) -> int:
        """Return the step."""
        if observation.ndim == 3:
            here, goal = (
                np.argwhere(observation[:, :, plane])[0] for plane in (AGENT_PLANE, GOAL_PLANE)
            )
        else:
            here, goal = observation[:2], observation[2:]
        key = (int(here[0]), int(here[1])), (int(goal[0]), int(goal[1]))
        if key not in self._steps:
            found = first_step(key[0], key[1].__eq__, lambda cell: not self._walls[cell])
            self._steps[key] = found or 0
        return self._steps[key]


class MetaMazeAgent:
    """Searches every cell once; then keeps finding out where it is, and goes back to the goal."""

    def __init__(self, env: Any) -> None:
        params = env.unwrapped.params
        self._walls, self._sight = params.walls, params.sight
        self._start = (params.start_row, params.start_column)
        self._free: list[Cell] = [(int(r), int(c)) for r, c in np.argwhere(self._walls == 0)]
        self.reset(0, env)

    def reset(self, seed: int, env: Any) -> None:
        """Know the start, and nothing of the goal."""
        self._places: list[Cell] = [self._start]
        self._goals = set(self._free) - {self._start}
        self._last: int | None = None

    def act(self, observation: Any) -> int:
        """Return the step towards where the goal is or may be."""
        self._look(observation)
        here = self._places[0]
        step = first_step(here, self._goals.__contains__, lambda cell: not self._walls[cell])
        self._last = step or 0
        return self._last

    def _look(self, observation: Any) -> None:
        view = observation[: (2 * self._sight + 1) ** 2] > 0
        if self._last is not None:
            reached = [self._after(place, self._last) for place in self._places]
            if observation[-2] > 0:
                found = [place for place in reached if place in self._goals]
                self._goals = {found[0]} if found else self._goals
                reached = [place for place in self._free if place not in self._goals]
            elif len(self._goals) == 1:
                reached = [place for place in reached if place not in self._goals]
            elif len(set(reached)) == 1:
                self._goals.discard(reached[0])
            self._places = reached
        self._places = [p for p in self._places if np.array_equal(self._seen(p), view)]
        if not self._places:
            self._places = list(self._free)
        if not self._goals:
            self._goals = set(self._free)

    def _after(self, place: Cell, step: int) -> Cell:
        after = step_from(*place, step)
        return place if self._walls[after] else after

    def _seen(self, place: Cell) -> Any:
        row, column, sight = *place, self._sight
        rows, columns = (
            slice(row - sight, row + sight + 1),
            slice(column - sight, column + sight + 1),
        )
        return self._walls[rows, columns].reshape(-1) > 0


class ExploringAgent:
    """Draws a map of what it sees, and goes to the goal, or to the nearest cell it has not seen."""

    # Headings are 0 right, 1 down, 2 left, 3 up; steps are 0 up, 1 right, 2 down, 3 left.
    STEP_OF_HEADING = (1, 2, 3, 0)

    def __init__(self, env: Any) -> None:
        self.reset(0, env)

    def reset(self, seed: int, env: Any) -> None:
        """Start with an empty map, at its origin."""
        self._map: dict[Cell, int] = {}
        self._here: Cell = (0, 0)
        self._forward = False

    def act(self, observation: Any) -> int:
        """Return a turn or a step forward."""
        heading = int(observation[VIEW // 2, VIEW - 1, 2])
        ahead = step_from(*self._here, self.STEP_OF_HEADING[heading])
        if self._forward and self._map.get(ahead) != WALL:
            self._here = ahead
        self._remember(observation, heading)
        step = self._way([cell for cell, kind in self._map.items() if kind == GOAL])
        if step is None:
            step = self._way(self._edge())
        wanted = 0 if step is None else self.STEP_OF_HEADING.index(step)
        turn = (wanted - heading) % 4
        self._forward = turn == 0
        return FORWARD if turn == 0 else LEFT if turn == 3 else RIGHT

    def _way(self, goals: Iterable[Cell]) -> int | None:
        cells = set(goals)
        return first_step(self._here, cells.__contains__, self._is_free)

    def _is_free(self, cell: Cell) -> bool:
        return self._map.get(cell, UNSEEN) not in (UNSEEN, WALL, LAVA)

    def _edge(self) -> list[Cell]:
        known = [cell for cell in self._map if self._is_free(cell)]
        around = (step_from(*cell, step) for cell in known for step in range(4))
        return [cell for cell in around if cell not in self._map]

    def _remember(self, observation: Any, heading: int) -> None:
        right = (heading == 0) - (heading == 2)
        down = (heading == 1) - (heading == 3)
        row, column = self._here
        for across in range(VIEW):
            for depth in range(VIEW):
                kind = int(observation[across, depth, 0])
                if kind != UNSEEN:
                    forward, aside = VIEW - 1 - depth, across - VIEW // 2
                    cell = (
                        row + down * forward + right * aside,
                        column + right * forward - down * aside,
                    )
                    self._map[cell] = kind
