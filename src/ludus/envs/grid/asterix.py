"""MinAtar's Asterix: collect gold, avoid enemies."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.grid.minatar import (
    DOWN,
    LEFT,
    RIGHT,
    SIZE,
    UP,
    MinAtarEnv,
    Params,
    chosen,
    clear,
    game,
)
from ludus.kernel.random import integers, random

__all__ = ["KERNEL", "AsterixEnv", "State"]

LANES = 8
TOP = 1
EMPTY = -1
SPAWN_INTERVAL, MOVE_INTERVAL, RAMP_INTERVAL = 10, 5, 100
PLAYER, ENEMY, TRAIL, GOLD = range(4)


class State(NamedTuple):
    """The player, the timers, and the runner of each lane."""

    last_action: int
    reward: float
    over: bool
    x: int
    y: int
    spawn_interval: int
    spawn_timer: int
    move_interval: int
    move_timer: int
    ramp_timer: int
    ramps: int
    columns: np.ndarray[Any, Any]
    """Where the lane's runner is, ``EMPTY`` if there is none."""
    rightward: np.ndarray[Any, Any]
    gold: np.ndarray[Any, Any]


def initial(params: Params, state: State, rng: Any) -> State:
    """Start in the middle of empty lanes, without random numbers."""
    for lane in range(LANES):
        state.columns[lane] = EMPTY
    return State(
        state.last_action,
        0.0,
        False,
        5,
        5,
        SPAWN_INTERVAL,
        SPAWN_INTERVAL,
        MOVE_INTERVAL,
        MOVE_INTERVAL,
        RAMP_INTERVAL,
        0,
        state.columns,
        state.rightward,
        state.gold,
    )


def spawn(state: State, rng: Any) -> None:
    """Spawn gold or an enemy in an empty lane, if there is one."""
    rightward = random(rng) < 1 / 2
    gold = random(rng) < 1 / 3
    free = 0
    for lane in range(LANES):
        free += state.columns[lane] == EMPTY
    if free == 0:
        return
    rank = integers(rng, 0, free)
    for lane in range(LANES):
        if state.columns[lane] == EMPTY:
            if rank == 0:
                state.columns[lane] = 0 if rightward else SIZE - 1
                state.rightward[lane] = rightward
                state.gold[lane] = gold
                return
            rank -= 1


def meet(state: State, x: int, y: int) -> tuple[int, bool]:
    """Take the gold at the player's place; return how much, and whether an enemy is there."""
    lane = y - TOP
    if state.columns[lane] != x:
        return 0, False
    if state.gold[lane]:
        state.columns[lane] = EMPTY
        return 1, False
    return 0, True


def run(state: State) -> None:
    """Move every runner one column; those that leave are gone."""
    for lane in range(LANES):
        column = state.columns[lane]
        if column != EMPTY:
            column += 1 if state.rightward[lane] else -1
            state.columns[lane] = column if 0 <= column < SIZE else EMPTY


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Spawn, move the player, then the runners, and make the game harder if it is time."""
    action = chosen(params, state.last_action, action, rng)
    earned, over, x, y = 0, state.over, state.x, state.y
    spawn_interval, spawn_timer = state.spawn_interval, state.spawn_timer
    move_interval, move_timer = state.move_interval, state.move_timer
    ramp_timer, ramps = state.ramp_timer, state.ramps
    if not over:
        if spawn_timer == 0:
            spawn(state, rng)
            spawn_timer = spawn_interval
        if action == LEFT:
            x = max(0, x - 1)
        elif action == RIGHT:
            x = min(SIZE - 1, x + 1)
        elif action == UP:
            y = max(TOP, y - 1)
        elif action == DOWN:
            y = min(TOP + LANES - 1, y + 1)
        earned, over = meet(state, x, y)
        if move_timer == 0:
            move_timer = move_interval
            run(state)
            more, caught = meet(state, x, y)
            earned += more
            over = over or caught
        spawn_timer -= 1
        move_timer -= 1
        if params.ramping and (spawn_interval > 1 or move_interval > 1):
            ramp_timer -= 1
            if ramp_timer < -1:
                if move_interval > 1 and ramps % 2 == 1:
                    move_interval -= 1
                if spawn_interval > 1:
                    spawn_interval -= 1
                ramps += 1
                ramp_timer = RAMP_INTERVAL
    return State(
        action,
        float(earned),
        over,
        x,
        y,
        spawn_interval,
        spawn_timer,
        move_interval,
        move_timer,
        ramp_timer,
        ramps,
        state.columns,
        state.rightward,
        state.gold,
    )


def observation(params: Params, state: State, out: np.ndarray[Any, Any]) -> None:
    """Write the player, and every runner with the cell behind it."""
    clear(out)
    out[state.y, state.x, PLAYER] = True
    for lane in range(LANES):
        column = state.columns[lane]
        if column != EMPTY:
            out[TOP + lane, column, GOLD if state.gold[lane] else ENEMY] = True
            behind = column - 1 if state.rightward[lane] else column + 1
            if 0 <= behind < SIZE:
                out[TOP + lane, behind, TRAIL] = True


def valid(params: Params, state: State) -> bool:
    """Return whether the player is in a lane, and every runner in a column or nowhere."""
    fits = 0 <= state.x < SIZE and TOP <= state.y < TOP + LANES
    for lane in range(LANES):
        fits = fits and bool(EMPTY <= state.columns[lane] < SIZE)
    return fits


KERNEL = game(
    "MinAtarAsterix",
    State,
    initial,
    transition,
    observation,
    valid,
    {
        "columns": ((LANES,), np.int64),
        "rightward": ((LANES,), np.bool_),
        "gold": ((LANES,), np.bool_),
    },
)


class AsterixEnv(MinAtarEnv):
    """Collect gold, 1 each, that runs through eight lanes, and touch no enemy.

    With ramping, runners come more often every hundred steps, and every second time also faster.
    See :class:`MinAtarEnv`.
    """

    kernel = KERNEL
    channels: ClassVar[dict[str, str]] = {"player": "@", "enemy": "E", "trail": "-", "gold": "$"}
    minimal_actions: ClassVar[tuple[int, ...]] = (0, LEFT, UP, RIGHT, DOWN)
