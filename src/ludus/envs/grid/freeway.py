"""MinAtar's Freeway: a chicken crosses eight lanes of traffic."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.grid.minatar import DOWN, SIZE, UP, MinAtarEnv, Params, chosen, clear, game
from ludus.kernel.random import integers, random

__all__ = ["KERNEL", "FreewayEnv", "State"]

LANES = 8
TOP = 1
COLUMN = 4
HOME = SIZE - 1
REST = 3
DURATION = 2500
SLOWEST = 5
CHICKEN, CAR, FASTEST_TRAIL = range(3)


class State(NamedTuple):
    """The chicken, the time left, and the car of each lane."""

    last_action: int
    reward: float
    over: bool
    y: int
    rest: int
    """Steps until the chicken can move again."""
    time_left: int
    columns: np.ndarray[Any, Any]
    waits: np.ndarray[Any, Any]
    """Steps until the car moves."""
    speeds: np.ndarray[Any, Any]
    """Steps a car stands between two moves, negative if it drives left."""


def send_cars(state: State, rng: Any) -> None:
    """Draw the speeds of all cars, then their directions."""
    for lane in range(LANES):
        state.waits[lane] = integers(rng, 1, SLOWEST + 1)
    for lane in range(LANES):
        wait = state.waits[lane]
        state.speeds[lane] = -wait if random(rng) < 1 / 2 else wait


def initial(params: Params, state: State, rng: Any) -> State:
    """Start at the bottom, with all cars in the first column."""
    send_cars(state, rng)
    for lane in range(LANES):
        state.columns[lane] = 0
    return State(
        state.last_action,
        0.0,
        False,
        HOME,
        REST,
        DURATION,
        state.columns,
        state.waits,
        state.speeds,
    )


def drive(state: State, y: int) -> int:
    """Move the cars, round the edges; return the chicken's row, ``HOME`` if one hit it."""
    for lane in range(LANES):
        if y == TOP + lane and state.columns[lane] == COLUMN:
            y = HOME
        if state.waits[lane] > 0:
            state.waits[lane] -= 1
            continue
        state.waits[lane] = abs(state.speeds[lane])
        step = 1 if state.speeds[lane] > 0 else SIZE - 1
        state.columns[lane] = (state.columns[lane] + step) % SIZE
        if y == TOP + lane and state.columns[lane] == COLUMN:
            y = HOME
    return y


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Move the chicken if it has rested, then the cars."""
    action = chosen(params, state.last_action, action, rng)
    earned, over, y, rest, time_left = 0.0, state.over, state.y, state.rest, state.time_left
    if not over:
        if rest == 0 and action in (UP, DOWN):
            rest = REST
            y = min(HOME, y + 1) if action == DOWN else max(0, y - 1)
        if y == 0:
            earned = 1.0
            send_cars(state, rng)
            y = HOME
        y = drive(state, y)
        rest = max(0, rest - 1)
        time_left -= 1
        over = time_left < 0
    return State(action, earned, over, y, rest, time_left, state.columns, state.waits, state.speeds)


def observation(params: Params, state: State, out: np.ndarray[Any, Any]) -> None:
    """Write the chicken, and every car with its trail in the channel of its speed."""
    clear(out)
    out[state.y, COLUMN, CHICKEN] = True
    for lane in range(LANES):
        column, speed = state.columns[lane], state.speeds[lane]
        out[TOP + lane, column, CAR] = True
        behind = (column + (SIZE - 1 if speed > 0 else 1)) % SIZE
        out[TOP + lane, behind, FASTEST_TRAIL + abs(speed) - 1] = True


def valid(params: Params, state: State) -> bool:
    """Return whether the chicken has a row, and each car a column and a speed that can be shown."""
    if not 0 <= state.y < SIZE:
        return False
    for lane in range(LANES):
        if not 0 <= state.columns[lane] < SIZE:
            return False
        if not -SLOWEST <= state.speeds[lane] <= SLOWEST:
            return False
    return True


KERNEL = game(
    "MinAtarFreeway",
    State,
    initial,
    transition,
    observation,
    valid,
    dict.fromkeys(("columns", "waits", "speeds"), ((LANES,), np.int64)),
)


class FreewayEnv(MinAtarEnv):
    """Bring the chicken across the road, 1 each time, until the 2501st step.

    It moves every third step at most, and starts again at the bottom when a car hits it. Cars get
    new speeds and directions whenever it arrives. See :class:`MinAtarEnv`.
    """

    kernel = KERNEL
    channels: ClassVar[dict[str, str]] = {
        "chicken": "@",
        "car": "C",
        "speed1": "1",
        "speed2": "2",
        "speed3": "3",
        "speed4": "4",
        "speed5": "5",
    }
    minimal_actions: ClassVar[tuple[int, ...]] = (0, UP, DOWN)
