"""Shared code of the algorithmic tasks: a tape to read, a tape to write, and a growing length.

A tape is a grid with one row. Each task brings its own ``initial``, which draws the input and works
out the target; everything after that is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ludus.kernel import Kernel
from ludus.kernel.random import integers
from ludus.spaces import Discrete, Space, Tuple

__all__ = ["LONGEST", "SPREAD", "Params", "State", "begin", "draw_input", "level", "task"]

LONGEST = 30
"""The minimal length at which the curriculum stops."""
SPREAD = 3
"""An input is up to ``SPREAD - 1`` longer than the minimal length."""
NEVER = 2**62
"""Upper bound of all counters, below which no computation overflows 64 bits."""
STEP_X = (-1, 1, 0, 0)
STEP_Y = (0, 0, -1, 1)


class Params(NamedTuple):
    """One task: its alphabet, its input's shape, and when it becomes longer."""

    base: int
    """Number of symbols."""
    rows: int
    moves: int
    """2 on a tape (left, right), 4 on a grid (and up, down)."""
    min_length: int
    """Minimal length at first."""
    window: int
    """How many episodes in a row must be good enough for the next length."""
    bound: float
    """Good enough: the return falls short of the target's length by no more than ``-bound``."""
    duplication: int = 1
    """How often each symbol of the input is repeated."""


class State(NamedTuple):
    """The head, the two tapes, and the curriculum: ``min_length`` and ``streak``."""

    min_length: int
    streak: int
    """Episodes in a row that were good enough."""
    width: int
    target_length: int
    limit: int
    """Steps that cost nothing; the next one ends the episode."""
    x: int
    y: int
    written: int
    steps: int
    reward: float
    total: float
    over: bool
    data: np.ndarray[Any, Any]
    """The input by column and row."""
    target: np.ndarray[Any, Any]


def level(params: Params, state: State) -> tuple[int, int]:
    """Score the episode that ends in ``state``; return the new minimal length and streak.

    The streak replaces Gym's window of the last returns: the smallest of them is good enough
    exactly if the streak is as long as the window.
    """
    if state.min_length == 0:
        return params.min_length, 0
    if state.total - state.target_length < params.bound:
        return state.min_length, 0
    if state.streak + 1 >= params.window and state.min_length < LONGEST:
        return state.min_length + 1, 0
    return state.min_length, state.streak + 1


def draw_input(params: Params, state: State, rng: Any) -> tuple[int, int, int]:
    """Draw an input's width, then its symbols, column by column.

    Returns:
        The minimal length and the streak after the episode that ``state`` leaves, and the width.
    """
    min_length, streak = level(params, state)
    width = min_length + integers(rng, 0, SPREAD)
    for x in range(width):
        for y in range(params.rows):
            state.data[x, y] = integers(rng, 0, params.base)
    return min_length, streak, width


def begin(
    params: Params,
    state: State,
    min_length: int,
    streak: int,
    width: int,
    target_length: int,
    limit: int,
) -> State:
    """Place the head at the start of the input.

    Before the first episode an environment counts one with return 0, which Gym's constructor made.
    It is assumed to be as long as the first one, so that it needs no random numbers.
    """
    if state.min_length == 0 and -target_length >= params.bound:
        streak = 1
    return State(
        min_length,
        streak,
        width,
        target_length,
        limit,
        0,
        0,
        0,
        0,
        0.0,
        0.0,
        False,
        state.data,
        state.target,
    )


def transition(params: Params, state: State, action: Any, rng: Any) -> State:
    """Write if the action says so, then move the head; a step beyond the limit has reward -1."""
    move, write, symbol = action
    steps = state.steps + 1
    written = state.written
    earned = 0.0
    over = False
    if write == 1:
        right = written < state.target_length and symbol == state.target[written]
        earned = 1.0 if right else -0.5
        written += 1
        over = not right or written >= state.target_length
    if steps > state.limit:
        earned = -1.0
        over = True
    return State(
        state.min_length,
        state.streak,
        state.width,
        state.target_length,
        state.limit,
        state.x + STEP_X[move],
        state.y + STEP_Y[move],
        written,
        steps,
        earned,
        state.total + earned,
        over,
        state.data,
        state.target,
    )


def observation(params: Params, state: State) -> int:
    """Return the symbol under the head, ``base`` outside the input."""
    if 0 <= state.x < state.width and 0 <= state.y < params.rows:
        return int(state.data[state.x, state.y])
    return params.base


def reward(params: Params, state: State, action: Any, next_state: State) -> float:
    """Return the reward of the step."""
    return next_state.reward


def terminal(params: Params, state: State) -> bool:
    """Return whether the last step finished the target, was wrong or came too late."""
    return state.over


def valid(params: Params, state: State) -> bool:
    """Return whether lengths fit the tapes, and all symbols are in the alphabet.

    Lengths are 0 before the first episode.
    """
    if not (0 <= state.min_length <= LONGEST and 0 <= state.width <= state.data.shape[0]):
        return False
    if not (0 <= state.target_length <= state.target.shape[0] and 0 <= state.written < NEVER):
        return False
    for x in range(state.width):
        for y in range(params.rows):
            if not 0 <= state.data[x, y] < params.base:
                return False
    return True


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the symbols and blank, and the triples of move, write flag and symbol."""
    action = Tuple((Discrete(params.moves), Discrete(2), Discrete(params.base)))
    return Discrete(params.base + 1), action


def state_arrays(params: Params) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Return the shapes for the longest input, and for a target of three times its length."""
    width = LONGEST + SPREAD - 1
    return {
        "data": ((max(width, params.duplication), params.rows), np.int64),
        "target": ((3 * width,), np.int64),
    }


def task(name: str, initial: Callable[[Params, State, Any], State]) -> Kernel:
    """Return the kernel of the task whose episodes begin with ``initial``."""
    return Kernel(
        name=name,
        params=Params,
        state=State,
        initial=initial,
        transition=transition,
        observation=observation,
        reward=reward,
        terminal=terminal,
        spaces=spaces,
        state_arrays=state_arrays,
        valid=valid,
    )
