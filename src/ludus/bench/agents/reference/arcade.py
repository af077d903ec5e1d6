"""Players of MinAtar's games: each looks a step or two ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.envs.grid import asterix, breakout, freeway, seaquest, space_invaders
from ludus.envs.grid.minatar import DOWN, FIRE, LEFT, RIGHT, SIZE, UP

__all__ = [
    "AsterixAgent",
    "BreakoutAgent",
    "FreewayAgent",
    "SeaquestAgent",
    "SpaceInvadersAgent",
]

NOTHING = 0
_MOVES = {NOTHING: (0, 0), LEFT: (0, -1), UP: (-1, 0), RIGHT: (0, 1), DOWN: (1, 0)}

Cells = Any


class _ArcadeAgent:
    """Chooses what to do; the number that the action space has for it is looked up."""

    def __init__(self, env: Any) -> None:
        actions = env.unwrapped.params.actions
        self._numbers = {int(action): number for number, action in enumerate(actions)}

    def act(self, observation: Any) -> int:
        """Return the action."""
        return self._numbers[self.choose(observation)]

    def choose(self, cells: Cells) -> int:
        """Return what to do."""
        raise NotImplementedError


def _place(plane: Any) -> tuple[int, int]:
    """Return row and column of the only thing in a plane."""
    row, column = divmod(int(plane.argmax()), SIZE)
    return row, column


def _towards(here: int, there: int) -> int:
    return LEFT if there < here else RIGHT if there > here else NOTHING


class BreakoutAgent(_ArcadeAgent):
    """Goes where the ball will come down, walls and bricks considered.

    Now and then it stands where the ball comes in from the side and goes back: the same path for
    ever would break no more bricks.
    """

    TURN_EVERY = 60

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._steps = 0

    def reset(self, seed: int, env: Any) -> None:
        """Begin again."""
        self._steps = 0

    def choose(self, cells: Cells) -> int:
        """Return the way to where the ball will land."""
        self._steps += 1
        paddle = int(cells[SIZE - 1, :, breakout.PADDLE].argmax())
        return _towards(paddle, self._landing(cells))

    def _landing(self, cells: Cells) -> int:
        y, x = _place(cells[:, :, breakout.BALL])
        before_y, before_x = _place(cells[:, :, breakout.TRAIL])
        # A ball that just turned is where it was; at the start it falls.
        dy = y - before_y or (1 if y < SIZE // 2 else -1)
        dx = x - before_x or (1 if x < SIZE // 2 else -1)
        bricks = cells[:, :, breakout.BRICK]
        for _ in range(3 * SIZE):
            above = x
            if 0 <= x + dx < SIZE:
                x += dx
            else:
                dx = -dx
            if y + dy < 0:
                y, dy = 0, 1
            elif bricks[y + dy, x]:
                dy = -dy
            elif y + dy == SIZE - 1:
                break
            else:
                y += dy
        return x if self._steps // self.TURN_EVERY % 2 else above


class FreewayAgent(_ArcadeAgent):
    """Goes up whenever the next lane stays free for as long as it has to stand there."""

    STAY = freeway.REST + 1

    def choose(self, cells: Cells) -> int:
        """Return up, or nothing."""
        y = int(cells[:, freeway.COLUMN, freeway.CHICKEN].argmax())
        return NOTHING if self._arrives(cells, y - 1) and not self._arrives(cells, y) else UP

    def _arrives(self, cells: Cells, row: int) -> bool:
        if not freeway.TOP <= row < freeway.TOP + freeway.LANES:
            return False
        car = int(cells[row, :, freeway.CAR].argmax())
        trails = cells[row, :, freeway.FASTEST_TRAIL :]
        behind, wait = divmod(int(trails.argmax()), trails.shape[1])
        rightward = (behind + 1) % SIZE == car
        distance = (freeway.COLUMN - car if rightward else car - freeway.COLUMN) % SIZE
        return distance == 0 or (distance - 1) * (wait + 2) < self.STAY


class AsterixAgent(_ArcadeAgent):
    """Goes to the nearest gold, not through enemies."""

    def choose(self, cells: Cells) -> int:
        """Return the safe step that comes nearest to gold."""
        y, x = _place(cells[:, :, asterix.PLAYER])
        gold = np.argwhere(cells[:, :, asterix.GOLD])
        best, chosen = -np.inf, NOTHING
        for move, (down, right) in _MOVES.items():
            row = min(max(y + down, asterix.TOP), asterix.TOP + asterix.LANES - 1)
            column = min(max(x + right, 0), SIZE - 1)
            worth = -100.0 * self._danger(cells, row, column)
            near = np.abs(gold - (row, column)).sum(axis=1)
            # Gold far behind cannot be caught; without any, the middle is near to all of it.
            worth -= float(near.min()) if len(near) else 0.5 * (abs(row - 4) + abs(column - 4))
            if worth > best:
                best, chosen = worth, move
        return chosen

    def _danger(self, cells: Cells, row: int, column: int) -> float:
        enemies = np.flatnonzero(cells[row, :, asterix.ENEMY])
        if not len(enemies):
            return 0.0
        enemy = int(enemies[0])
        trail = np.flatnonzero(cells[row, :, asterix.TRAIL])
        heading = (
            1 if (enemy - int(trail[0]) if len(trail) else 1 if enemy == 0 else -1) > 0 else -1
        )
        ahead = (column - enemy) * heading
        return 1.0 if ahead == 0 else 0.8 if ahead == 1 else 0.1 if ahead == 2 else 0.0


class SpaceInvadersAgent(_ArcadeAgent):
    """Steps out of the way of bombs, and shoots whatever is above."""

    def choose(self, cells: Cells) -> int:
        """Return a step aside, a shot, or a step towards the aliens."""
        cannon = int(cells[SIZE - 1, :, space_invaders.CANNON].argmax())
        bombs = cells[SIZE - 4 :, :, space_invaders.BOMB].any(axis=0)
        aliens = cells[:, :, space_invaders.ALIEN]
        low = aliens[SIZE - 3 :].any(axis=0)
        danger = bombs | low
        if danger[cannon]:
            for move, right in ((LEFT, -1), (RIGHT, 1)):
                if 0 <= cannon + right < SIZE and not danger[cannon + right]:
                    return move
            return LEFT if cannon > SIZE // 2 else RIGHT
        columns = np.flatnonzero(aliens.any(axis=0))
        heading = -1 if cells[:, :, space_invaders.ALIEN_LEFT].any() else 1
        aims = columns + heading
        target = int(columns[np.abs(aims - cannon).argmin()]) + heading if len(columns) else cannon
        if abs(target - cannon) <= 1 and not cells[SIZE - 5 :, :, space_invaders.SHOT].any():
            return FIRE
        move = _towards(cannon, min(max(target, 0), SIZE - 1))
        after = cannon + {LEFT: -1, RIGHT: 1, NOTHING: 0}[move]
        return FIRE if danger[after] else move


class SeaquestAgent(_ArcadeAgent):
    """Shoots what is in its row, leaves rows where something comes near, and comes up for air."""

    LOW_ON_AIR = 3

    def choose(self, cells: Cells) -> int:
        """Return a shot, a step out of danger, or a step towards divers, enemies or air."""
        y, x = _place(cells[:, :, seaquest.FRONT])
        facing = 1 if cells[y, :, seaquest.BACK].argmax() < x else -1
        things = cells[:, :, [seaquest.BOMB, seaquest.ENEMY_FISH, seaquest.ENEMY_SUB]].any(axis=2)
        enemies = cells[:, :, [seaquest.ENEMY_FISH, seaquest.ENEMY_SUB]].any(axis=2)
        air = int(cells[SIZE - 1, :, seaquest.OXYGEN].sum())
        crew = int(cells[SIZE - 1, :, seaquest.CREW_GAUGE].sum())
        if self._near(things, y, x):
            foes = np.flatnonzero(enemies[y])
            ahead = [foe for foe in foes if (foe - x) * facing > 0]
            if len(ahead) and not self._near(things & ~enemies, y, x):
                return FIRE
            return self._escape(things, y, x)
        if crew and (air <= self.LOW_ON_AIR or crew == seaquest.CREW):
            return self._step(things, y, x, UP)
        divers = np.argwhere(cells[:, :, seaquest.DIVER])
        if len(divers):
            row, column = divers[np.abs(divers - (y, x)).sum(axis=1).argmin()]
            wanted = DOWN if row > y else UP if row < y else _towards(x, int(column))
            return self._step(things, y, x, wanted)
        if enemies[y].any():
            foe = int(np.flatnonzero(enemies[y])[0])
            return FIRE if (foe - x) * facing > 0 else _towards(x, foe)
        return self._step(things, y, x, DOWN if y < SIZE // 2 else NOTHING)

    def _near(self, things: Any, row: int, column: int) -> bool:
        return bool(things[row, max(0, column - 2) : column + 3].any())

    def _step(self, things: Any, y: int, x: int, move: int) -> int:
        down, right = _MOVES[move]
        row, column = y + down, min(max(x + right, 0), SIZE - 1)
        return NOTHING if self._near(things, row, column) else move

    def _escape(self, things: Any, y: int, x: int) -> int:
        for move in (UP, DOWN):
            row = y + _MOVES[move][0]
            if 1 <= row <= seaquest.DEEPEST and not self._near(things, row, x):
                return move
        left = bool(things[y, max(0, x - 3) : x].any())
        return RIGHT if left else LEFT
