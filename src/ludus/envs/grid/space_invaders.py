"""MinAtar's Space Invaders: shoot the aliens before they land."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.grid.minatar import FIRE, LEFT, RIGHT, SIZE, MinAtarEnv, Params, chosen, game

__all__ = ["KERNEL", "SpaceInvadersEnv", "State"]

BOTTOM = SIZE - 1
WAVE_ROWS, WAVE_LEFT, WAVE_RIGHT = 4, 2, 8
RELOAD = 5
MOVE_INTERVAL, SHORTEST_INTERVAL = 12, 6
BOMB_INTERVAL = 10
CANNON, ALIEN, ALIEN_LEFT, ALIEN_RIGHT, SHOT, BOMB = range(6)


class State(NamedTuple):
    """The cannon, the swarm's heading, timers, and maps of aliens, shots and bombs."""

    last_action: int
    reward: float
    over: bool
    cannon: int
    reload: int
    heading: int
    """-1 left, 1 right."""
    alive: int
    interval: int
    """Most steps between two moves of the aliens; fewer aliens move faster."""
    move_timer: int
    bomb_timer: int
    aliens: np.ndarray[Any, Any]
    shots: np.ndarray[Any, Any]
    bombs: np.ndarray[Any, Any]


def land_wave(state: State) -> int:
    """Put a wave of aliens on the map; return how many they are."""
    for y in range(WAVE_ROWS):
        for x in range(WAVE_LEFT, WAVE_RIGHT):
            state.aliens[y, x] = True
    return WAVE_ROWS * (WAVE_RIGHT - WAVE_LEFT)


def initial(params: Params, state: State, rng: Any) -> State:
    """Start with a full wave that moves left, without random numbers."""
    for y in range(SIZE):
        for x in range(SIZE):
            state.aliens[y, x] = False
            state.shots[y, x] = False
            state.bombs[y, x] = False
    alive = land_wave(state)
    return State(
        state.last_action,
        0.0,
        False,
        5,
        0,
        -1,
        alive,
        MOVE_INTERVAL,
        MOVE_INTERVAL,
        BOMB_INTERVAL,
        state.aliens,
        state.shots,
        state.bombs,
    )


def at_edge(state: State) -> bool:
    """Return whether an alien stands at the wall that the swarm is heading for."""
    wall = 0 if state.heading < 0 else SIZE - 1
    found = False
    for y in range(SIZE):
        found = found or bool(state.aliens[y, wall])
    return found


def descend(state: State) -> bool:
    """Move all aliens down a row; return whether one was at the bottom, to come back at the top."""
    landed = False
    for x in range(SIZE):
        lowest = bool(state.aliens[BOTTOM, x])
        landed = landed or lowest
        for y in range(BOTTOM, 0, -1):
            state.aliens[y, x] = state.aliens[y - 1, x]
        state.aliens[0, x] = lowest
    return landed


def sidle(state: State) -> None:
    """Move all aliens one column; the one they head for is empty."""
    for y in range(SIZE):
        if state.heading < 0:
            for x in range(SIZE - 1):
                state.aliens[y, x] = state.aliens[y, x + 1]
            state.aliens[y, SIZE - 1] = False
        else:
            for x in range(SIZE - 1, 0, -1):
                state.aliens[y, x] = state.aliens[y, x - 1]
            state.aliens[y, 0] = False


def drop_bomb(state: State, cannon: int) -> None:
    """Drop a bomb from the lowest alien of the column nearest to the cannon (the left of two)."""
    for distance in range(SIZE):
        for side in range(-1, 2, 2):
            x = cannon + side * distance
            if 0 <= x < SIZE:
                for y in range(BOTTOM, -1, -1):
                    if state.aliens[y, x]:
                        state.bombs[y, x] = True
                        return


def fly(state: State) -> None:
    """Move shots up and bombs down by a row."""
    for x in range(SIZE):
        for y in range(BOTTOM):
            state.shots[y, x] = state.shots[y + 1, x]
        state.shots[BOTTOM, x] = False
        for y in range(BOTTOM, 0, -1):
            state.bombs[y, x] = state.bombs[y - 1, x]
        state.bombs[0, x] = False


def remove_hit(state: State) -> int:
    """Take away every alien that meets a shot, and the shot; return how many."""
    hits = 0
    for y in range(SIZE):
        for x in range(SIZE):
            if state.aliens[y, x] and state.shots[y, x]:
                state.aliens[y, x] = False
                state.shots[y, x] = False
                hits += 1
    return hits


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Move or fire, let everything fly, move the aliens if it is time, and count the hits."""
    action = chosen(params, state.last_action, action, rng)
    over, cannon, reload, heading = state.over, state.cannon, state.reload, state.heading
    alive, interval = state.alive, state.interval
    move_timer, bomb_timer = state.move_timer, state.bomb_timer
    hits = 0
    if not over:
        if action == LEFT:
            cannon = max(0, cannon - 1)
        elif action == RIGHT:
            cannon = min(SIZE - 1, cannon + 1)
        elif action == FIRE and reload == 0:
            state.shots[BOTTOM, cannon] = True
            reload = RELOAD
        fly(state)
        over = bool(state.bombs[BOTTOM, cannon] or state.aliens[BOTTOM, cannon])
        if move_timer == 0:
            move_timer = min(alive, interval)
            if at_edge(state):
                heading = -heading
                over = descend(state) or over
            else:
                sidle(state)
            over = bool(over or state.aliens[BOTTOM, cannon])
        if bomb_timer == 0:
            bomb_timer = BOMB_INTERVAL
            drop_bomb(state, cannon)
        hits = remove_hit(state)
        alive -= hits
        reload = max(0, reload - 1)
        move_timer -= 1
        bomb_timer -= 1
        if alive == 0:
            if params.ramping and interval > SHORTEST_INTERVAL:
                interval -= 1
            alive = land_wave(state)
    return State(
        action,
        float(hits),
        over,
        cannon,
        reload,
        heading,
        alive,
        interval,
        move_timer,
        bomb_timer,
        state.aliens,
        state.shots,
        state.bombs,
    )


def observation(params: Params, state: State, out: np.ndarray[Any, Any]) -> None:
    """Write the cannon, the aliens, also in the channel of their direction, shots and bombs."""
    for y in range(SIZE):
        for x in range(SIZE):
            alien = state.aliens[y, x]
            out[y, x, CANNON] = y == BOTTOM and x == state.cannon
            out[y, x, ALIEN] = alien
            out[y, x, ALIEN_LEFT] = alien and state.heading < 0
            out[y, x, ALIEN_RIGHT] = alien and state.heading > 0
            out[y, x, SHOT] = state.shots[y, x]
            out[y, x, BOMB] = state.bombs[y, x]


def valid(params: Params, state: State) -> bool:
    """Return whether the cannon is on the grid; all else is in arrays of the grid's shape."""
    return 0 <= state.cannon < SIZE


KERNEL = game(
    "MinAtarSpaceInvaders",
    State,
    initial,
    transition,
    observation,
    valid,
    dict.fromkeys(("aliens", "shots", "bombs"), ((SIZE, SIZE), np.bool_)),
)


class SpaceInvadersEnv(MinAtarEnv):
    """Shoot aliens, 1 each, without being hit by a bomb or reached by an alien.

    The swarm moves sideways, and at a wall down and back. It bombs every ten steps. It moves faster
    the fewer it is; with ramping, each new wave also starts faster, up to twice as fast. The cannon
    can fire every five steps. See :class:`MinAtarEnv`.
    """

    kernel = KERNEL
    channels: ClassVar[dict[str, str]] = {
        "cannon": "A",
        "alien": "W",
        "alien_left": "<",
        "alien_right": ">",
        "friendly_bullet": "'",
        "enemy_bullet": "!",
    }
    minimal_actions: ClassVar[tuple[int, ...]] = (0, LEFT, RIGHT, FIRE)
