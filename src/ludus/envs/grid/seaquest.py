"""MinAtar's Seaquest: a submarine fights, rescues divers, and needs air."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.grid.minatar import (
    DOWN,
    FIRE,
    LEFT,
    RIGHT,
    SIZE,
    UP,
    MinAtarEnv,
    Params,
    chosen,
    clear,
    game,
    inside,
)
from ludus.envs.grid.seaquest_things import (
    BOMB_INTERVAL,
    CAPACITY,
    DIVER_MOVE_INTERVAL,
    DIVERS,
    FISH,
    KINDS,
    NUMBERS,
    RIGHTWARD,
    SHOTS,
    SUBS,
    X,
    Y,
    append,
    move_things,
    things_inside,
)
from ludus.kernel.random import integers, random

__all__ = ["KERNEL", "SeaquestEnv", "State"]

DEEPEST = SIZE - 2
FULL_TANK = 200
CREW = 6
NEVER = 2**62
"""Upper bound of the divers owed, which no game reaches."""
SPAWN_INTERVAL, DIVER_INTERVAL = 20, 30
MOVE_INTERVAL, SHORTEST_INTERVAL = 5, 2
RELOAD = 5
FRONT, BACK, SHOT, TRAIL, BOMB, ENEMY_FISH, ENEMY_SUB, OXYGEN, CREW_GAUGE, DIVER = range(10)
CHANNELS = (SHOT, BOMB, ENEMY_FISH, ENEMY_SUB, DIVER)
"""The channel of each kind of thing."""


class State(NamedTuple):
    """The submarine and its stores, the timers, and all that swims or flies around it."""

    last_action: int
    reward: float
    over: bool
    x: int
    y: int
    rightward: bool
    surfaced: bool
    oxygen: int
    crew: int
    reload: int
    spawn_interval: int
    spawn_timer: int
    diver_timer: int
    move_interval: int
    ramps: int
    things: np.ndarray[Any, Any]
    """Rows of numbers by kind, in the order of :mod:`~ludus.envs.grid.seaquest_things`."""
    counts: np.ndarray[Any, Any]
    """How many rows of each kind are in use."""


def initial(params: Params, state: State, rng: Any) -> State:
    """Start at the surface of an empty sea; nothing is drawn."""
    for kind in range(KINDS):
        state.counts[kind] = 0
    return State(
        state.last_action,
        0.0,
        False,
        5,
        0,
        False,
        True,
        FULL_TANK,
        0,
        0,
        SPAWN_INTERVAL,
        SPAWN_INTERVAL,
        DIVER_INTERVAL,
        MOVE_INTERVAL,
        0,
        state.things,
        state.counts,
    )


def spawn_enemy(state: State, rng: Any) -> None:
    """Spawn a fish or a submarine in a row, unless the row has one in the other direction."""
    rightward = int(random(rng) < 1 / 2)
    kind = SUBS if random(rng) < 1 / 3 else FISH
    y = integers(rng, 1, DEEPEST + 1)
    for other in range(FISH, SUBS + 1):
        for i in range(state.counts[other]):
            row = state.things[other, i]
            if row[Y] == y and row[RIGHTWARD] != rightward:
                return
    x = 0 if rightward == 1 else SIZE - 1
    reload = BOMB_INTERVAL if kind == SUBS else 0
    append(state, kind, x, y, rightward, state.move_interval, reload)


def spawn_diver(state: State, rng: Any) -> None:
    """Spawn a diver in a row."""
    rightward = int(random(rng) < 1 / 2)
    y = integers(rng, 1, DEEPEST + 1)
    append(state, DIVERS, 0 if rightward == 1 else SIZE - 1, y, rightward, DIVER_MOVE_INTERVAL, 0)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Spawn, steer or fire, move everything else, then use up or take in air."""
    action = chosen(params, state.last_action, action, rng)
    earned, over, x, y, rightward = 0, state.over, state.x, state.y, state.rightward
    surfaced, oxygen, crew, reload = state.surfaced, state.oxygen, state.crew, state.reload
    spawn_interval, spawn_timer = state.spawn_interval, state.spawn_timer
    diver_timer, move_interval, ramps = state.diver_timer, state.move_interval, state.ramps
    if not over:
        if spawn_timer == 0:
            spawn_enemy(state, rng)
            spawn_timer = spawn_interval
        if diver_timer == 0:
            spawn_diver(state, rng)
            diver_timer = DIVER_INTERVAL
        if action == FIRE and reload == 0:
            append(state, SHOTS, x, y, int(rightward), 0, 0)
            reload = RELOAD
        x, y, rightward = steer(action, x, y, rightward)

        earned, boarded, hit = move_things(state, x, y, CREW - crew)
        crew += boarded
        over = hit or oxygen <= 0
        spawn_timer -= 1
        diver_timer -= 1
        reload = max(0, reload - 1)
        if y > 0:
            oxygen -= 1
            surfaced = False
        elif not surfaced and crew == 0:
            over = True
        elif not surfaced:
            surfaced = True
            if crew == CREW:
                earned += oxygen * SIZE // FULL_TANK
                crew = 0
            # The original lets one go from a crew just set ashore, too: one is owed after it.
            crew -= 1
            oxygen = FULL_TANK
            spawn_interval, move_interval, ramps = harder(
                params, spawn_interval, move_interval, ramps
            )
    return State(
        action,
        float(earned),
        over,
        x,
        y,
        rightward,
        surfaced,
        oxygen,
        crew,
        reload,
        spawn_interval,
        spawn_timer,
        diver_timer,
        move_interval,
        ramps,
        state.things,
        state.counts,
    )


def steer(action: int, x: int, y: int, rightward: bool) -> tuple[int, int, bool]:
    """Return the submarine's place and heading after an action."""
    if action == LEFT:
        return max(0, x - 1), y, False
    if action == RIGHT:
        return min(SIZE - 1, x + 1), y, True
    if action == UP:
        return x, max(0, y - 1), rightward
    if action == DOWN:
        return x, min(DEEPEST, y + 1), rightward
    return x, y, rightward


def harder(
    params: Params, spawn_interval: int, move_interval: int, ramps: int
) -> tuple[int, int, int]:
    """Return the intervals after surfacing: more enemies, and every second time faster ones."""
    if not params.ramping or (spawn_interval <= 1 and move_interval <= SHORTEST_INTERVAL):
        return spawn_interval, move_interval, ramps
    if move_interval > SHORTEST_INTERVAL and ramps % 2 == 1:
        move_interval -= 1
    return max(1, spawn_interval - 1), move_interval, ramps + 1


def observation(params: Params, state: State, out: np.ndarray[Any, Any]) -> None:
    """Write the submarine, its gauges in the bottom row, and all things with their trails."""
    clear(out)
    out[state.y, state.x, FRONT] = True
    out[state.y, state.x - 1 if state.rightward else state.x + 1, BACK] = True
    for x in range(max(0, state.oxygen) * SIZE // FULL_TANK):
        out[SIZE - 1, x, OXYGEN] = True
    for x in range(SIZE - 1 - state.crew, SIZE - 1):
        out[SIZE - 1, x, CREW_GAUGE] = True
    for kind in range(KINDS):
        for i in range(state.counts[kind]):
            row = state.things[kind, i]
            out[row[Y], row[X], CHANNELS[kind]] = True
            behind = row[X] - 1 if row[RIGHTWARD] == 1 else row[X] + 1
            if kind >= FISH and 0 <= behind < SIZE:
                out[row[Y], behind, TRAIL] = True


def valid(params: Params, state: State) -> bool:
    """Return whether both ends of the submarine, its gauges and all things are in the picture."""
    if not (0 <= state.y <= DEEPEST and 0 <= state.x < SIZE):
        return False
    if not inside(state.x - 1 if state.rightward else state.x + 1, state.y):
        return False
    if not (-NEVER < state.oxygen <= FULL_TANK and -NEVER < state.crew <= CREW):
        return False
    return things_inside(state)


KERNEL = game(
    "MinAtarSeaquest",
    State,
    initial,
    transition,
    observation,
    valid,
    {"things": ((KINDS, CAPACITY, NUMBERS), np.int64), "counts": ((KINDS,), np.int64)},
)


class SeaquestEnv(MinAtarEnv):
    """Shoot fish and submarines, 1 each, and bring divers to the surface before the air is out.

    Surfacing with divers on board fills the tank and lets one of them go; with a crew of six all
    go, and each tenth of the tank that is still full earns 1. Surfacing without a diver, running
    out of air, and being hit by a fish, a submarine or its bullet end the game. With ramping, each
    surfacing brings more enemies, and every second one faster ones. See :class:`MinAtarEnv`.
    """

    kernel = KERNEL
    channels: ClassVar[dict[str, str]] = {
        "sub_front": "@",
        "sub_back": "=",
        "friendly_bullet": "'",
        "trail": "-",
        "enemy_bullet": "!",
        "enemy_fish": "F",
        "enemy_sub": "S",
        "oxygen_gauge": "O",
        "diver_gauge": "D",
        "diver": "d",
    }
    minimal_actions: ClassVar[tuple[int, ...]] = (0, LEFT, UP, RIGHT, DOWN, FIRE)
