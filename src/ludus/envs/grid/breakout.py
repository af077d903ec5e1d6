"""MinAtar's Breakout: a ball, a paddle, and three rows of bricks."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.grid.minatar import (
    LEFT,
    RIGHT,
    SIZE,
    MinAtarEnv,
    Params,
    chosen,
    clear,
    game,
    inside,
)
from ludus.kernel.random import integers

__all__ = ["KERNEL", "BreakoutEnv", "State"]

TOP, ROWS = 1, 3
PADDLE, BALL, TRAIL, BRICK = range(4)


class State(NamedTuple):
    """Paddle, ball with its heading, and the bricks that are left."""

    last_action: int
    reward: float
    over: bool
    paddle: int
    x: int
    y: int
    dx: int
    dy: int
    trail_x: int
    trail_y: int
    struck: bool
    """Whether the ball broke a brick and has not been in the open since."""
    left: int
    """Number of bricks."""
    bricks: np.ndarray[Any, Any]


def lay_bricks(state: State) -> int:
    """Fill all rows; return how many bricks that are."""
    for row in range(ROWS):
        for x in range(SIZE):
            state.bricks[row, x] = True
    return ROWS * SIZE


def initial(params: Params, state: State, rng: Any) -> State:
    """Start the ball under the bricks, at the left or the right wall."""
    side = integers(rng, 0, 2)
    x = (SIZE - 1) * side
    left = lay_bricks(state)
    return State(
        state.last_action, 0.0, False, 4, x, 3, 1 - 2 * side, 1, x, 3, False, left, state.bricks
    )


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Move the paddle, then the ball, which turns at walls, bricks and the paddle."""
    action = chosen(params, state.last_action, action, rng)
    earned = 0.0
    over = state.over
    paddle = state.paddle
    x, y, dx, dy = state.x, state.y, state.dx, state.dy
    trail_x, trail_y = state.trail_x, state.trail_y
    struck, left = state.struck, state.left
    if not over:
        if action == LEFT:
            paddle = max(0, paddle - 1)
        elif action == RIGHT:
            paddle = min(SIZE - 1, paddle + 1)
        trail_x, trail_y = x, y
        x += dx
        y += dy
        if x < 0 or x >= SIZE:
            x = trail_x
            dx = -dx
        row = y - TOP
        in_brick = 0 <= row < ROWS and state.bricks[row, x]
        if y < 0:
            y = 0
            dy = -dy
        elif in_brick:
            if not struck:
                state.bricks[row, x] = False
                left -= 1
                earned = 1.0
                y = trail_y
                dy = -dy
        elif y == SIZE - 1:
            if left == 0:
                left = lay_bricks(state)
            if trail_x == paddle or x == paddle:
                # A ball that hits the paddle's side returns along its path.
                if trail_x != paddle:
                    dx = -dx
                dy = -dy
                y = trail_y
            else:
                over = True
        struck = bool(in_brick)
    return State(
        action, earned, over, paddle, x, y, dx, dy, trail_x, trail_y, struck, left, state.bricks
    )


def observation(params: Params, state: State, out: np.ndarray[Any, Any]) -> None:
    """Write the paddle, the ball, its previous cell, and the bricks."""
    clear(out)
    out[SIZE - 1, state.paddle, PADDLE] = True
    out[state.y, state.x, BALL] = True
    out[state.trail_y, state.trail_x, TRAIL] = True
    for row in range(ROWS):
        for x in range(SIZE):
            out[TOP + row, x, BRICK] = state.bricks[row, x]


def valid(params: Params, state: State) -> bool:
    """Return whether paddle and ball are on the grid, the ball above the bottom row.

    A ball in the bottom row is lost, so the game is over.
    """
    if not (0 <= state.paddle < SIZE and inside(state.trail_x, state.trail_y)):
        return False
    if not (-1 <= state.dx <= 1 and -1 <= state.dy <= 1):
        return False
    return inside(state.x, state.y) and (state.over or state.y < SIZE - 1)


KERNEL = game(
    "MinAtarBreakout",
    State,
    initial,
    transition,
    observation,
    valid,
    {"bricks": ((ROWS, SIZE), np.bool_)},
)


class BreakoutEnv(MinAtarEnv):
    """Keep the ball in play and break bricks, 1 each; new ones come when all are broken.

    The ball moves diagonally. It turns at walls and bricks, and at the paddle: straight back up
    where it comes down on it, back along its path where it comes in from the side. It is lost, and
    the game over, at the bottom. See :class:`MinAtarEnv`.
    """

    kernel = KERNEL
    channels: ClassVar[dict[str, str]] = {"paddle": "=", "ball": "o", "trail": "-", "brick": "#"}
    minimal_actions: ClassVar[tuple[int, ...]] = (0, LEFT, RIGHT)
