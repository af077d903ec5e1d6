"""Foresee where the ball comes down, and meet it where its next flights break most bricks.

Only the paddle is subject to chance, never the ball. So its direction, and whether it has just
broken a brick, which cannot be seen, are known by following it from the first step on.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SIZE, TOP, ROWS = 10, 1, 3
PADDLE, BALL, TRAIL, BRICK = range(4)
STAY, LEFT, RIGHT = range(3)
LONGEST = 60
"""Steps after which a flight is given up."""
FLIGHTS = 2
"""How many are looked ahead after the present one."""


class Balls(NamedTuple):
    """Where balls are and go to; ``trail`` is the column of the step before."""

    x: NDArray[np.int64]
    y: NDArray[np.int64]
    dx: NDArray[np.int64]
    dy: NDArray[np.int64]
    trail: NDArray[np.int64]
    struck: NDArray[np.bool_]
    """Whether the ball broke a brick and has not been in the open since."""
    bricks: NDArray[np.bool_]

    def rows(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Balls:
        """Return some of the balls."""
        return Balls(*(field[chosen] for field in self))


def step(balls: Balls) -> tuple[Balls, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the balls a step later, which broke a brick, and which are at the bottom."""
    each = np.arange(len(balls.x))
    x, y = balls.x + balls.dx, balls.y + balls.dy
    beside = (x < 0) | (x >= SIZE)
    x = np.where(beside, balls.x, x)
    dx = np.where(beside, -balls.dx, balls.dx)
    row = np.clip(y - TOP, 0, ROWS - 1)
    in_brick = (row == y - TOP) & balls.bricks[each, row, x]
    breaks = in_brick & ~balls.struck
    bricks = balls.bricks.copy()
    bricks[each[breaks], row[breaks], x[breaks]] = False
    above = y < 0
    dy = np.where(above | breaks, -balls.dy, balls.dy)
    height = np.where(above, 0, np.where(breaks, balls.y, y))
    return Balls(x, height, dx, dy, balls.x, in_brick, bricks), breaks, y == SIZE - 1


def fly(balls: Balls) -> tuple[Balls, NDArray[np.int64], NDArray[np.int64]]:
    """Return the balls as they come down, how many bricks each broke, and after how many steps."""
    count = len(balls.x)
    broken, steps = np.zeros(count, np.int64), np.zeros(count, np.int64)
    fields = [field.copy() for field in balls]
    flying = np.arange(count)
    for _ in range(LONGEST):
        moved, breaks, down = step(Balls(*(field[flying] for field in fields)))
        for field, values in zip(fields, moved, strict=True):
            field[flying] = values
        broken[flying] += breaks
        steps[flying] += 1
        flying = flying[~down]
        if not flying.size:
            break
    return Balls(*fields), broken, steps


def bounce(balls: Balls, paddle: NDArray[np.int64]) -> Balls:
    """Return balls at the bottom after they met the paddle; where all bricks are gone, new come."""
    empty = ~balls.bricks.any(axis=(1, 2), keepdims=True)
    return Balls(
        balls.x,
        np.full_like(balls.y, SIZE - 2),
        np.where(paddle == balls.trail, balls.dx, -balls.dx),
        np.full_like(balls.dy, -1),
        balls.trail,
        np.zeros_like(balls.struck),
        balls.bricks | empty,
    )


def plan(
    balls: Balls, paddle: NDArray[np.int64], flights: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return what balls in flight are worth, and where to meet them."""
    landed, broken, steps = fly(balls)
    worths, spots = [], (landed.trail, landed.x)
    for spot in spots:
        # Actions stick: who must move until the last moment comes too late now and then.
        spare = steps - abs(spot - paddle)
        risk = game.risks[np.clip(spare, -1, len(game.risks) - 2) + 1]
        worth = broken - game.price * steps - risk
        if flights:
            worth = worth + game.discount * plan(bounce(landed, spot), spot, flights - 1)[0]
        worths.append(worth)
    back = worths[1] > worths[0]
    return np.where(back, worths[1], worths[0]), np.where(back, spots[1], spots[0])


class Game:
    """What is remembered: the balls, and where each is to be met."""

    def __init__(self) -> None:
        arrays = np.load(Path(__file__).with_name("weights.npz"))
        self.risks: NDArray[np.float64] = arrays["risks"]
        """Of having -1, 0, 1, ... steps to spare."""
        self.price, self.discount = float(arrays["price"]), float(arrays["discount"])
        self.balls: Balls | None = None
        self.targets = np.zeros(0, np.int64)


game: Game


def start(policy: int, environments: int) -> None:
    """Get ready to play."""
    global game
    game = Game()


def act(observations: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the action for each environment."""
    paddle = observations[:, SIZE - 1, :, PADDLE].argmax(axis=1)
    if game.balls is None:
        game.balls = _first(observations)
        game.targets = np.zeros_like(paddle)
        fresh = np.ones(len(paddle), np.bool_)
    else:
        moved, _, fresh = step(game.balls)
        for field, values in zip(moved, bounce(moved.rows(fresh), paddle[fresh]), strict=True):
            field[fresh] = values
        game.balls = moved
    if fresh.any():
        game.targets[fresh] = plan(game.balls.rows(fresh), paddle[fresh], FLIGHTS)[1]
    way = game.targets - paddle
    return np.where(way < 0, LEFT, np.where(way > 0, RIGHT, STAY))


def _first(observations: NDArray[np.bool_]) -> Balls:
    """Return the balls of first observations: at the left or the right wall, on their way down."""
    x = observations[..., BALL].any(axis=1).argmax(axis=1)
    return Balls(
        x,
        observations[..., BALL].any(axis=2).argmax(axis=1),
        np.where(x == 0, 1, -1),
        np.ones_like(x),
        x,
        np.zeros(len(x), np.bool_),
        observations[:, TOP : TOP + ROWS, :, BRICK].copy(),
    )
