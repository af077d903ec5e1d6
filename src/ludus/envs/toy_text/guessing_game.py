"""Guessing Game: find a hidden number from hints of higher and lower."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.errors import InvalidAction
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import uniform
from ludus.spaces import Box, Discrete, Space

__all__ = ["GuessingGameEnv", "Info", "Params", "State"]

RANGE = 1000.0
BOUND = 10_000.0
GUESSES = 200
NEAR = 0.01 * RANGE


class Params(NamedTuple):
    """The range of the number, and how many guesses there are."""

    span: float
    guesses: int


class State(NamedTuple):
    """The number, the guesses made, the hint on the last one, and whether it was near enough."""

    number: float
    guesses: int
    hint: int
    near: bool


class Info(NamedTuple):
    """The number sought, and the guesses made."""

    number: float
    guesses: int


def hint_on(guess: float, number: float) -> int:
    """Return 1 for a guess below the number, 2 for a hit, 3 for a guess above."""
    if guess < number:
        return 1
    return 2 if guess == number else 3


def initial(params: Params, rng: Any) -> State:
    """Hide a number."""
    return State(uniform(rng, -params.span, params.span), 0, 0, False)


def transition(params: Params, state: State, action: Any, rng: Any) -> State:
    """Judge a guess."""
    guess = float(action[0])
    near = abs(guess - state.number) < NEAR
    return State(state.number, state.guesses + 1, hint_on(guess, state.number), near)


def observation(params: Params, state: State) -> int:
    """Return the hint, 0 before the first guess."""
    return state.hint


def reward(params: Params, state: State, action: Any, next_state: State) -> float:
    """Return 1 for a guess near enough."""
    return 1.0 if next_state.near else 0.0


def terminal(params: Params, state: State) -> bool:
    """Tell whether the number was found or the guesses are used up."""
    return state.near or state.guesses >= params.guesses


def info(params: Params, state: State) -> Info:
    """Return the answer and the guesses made."""
    return Info(state.number, state.guesses)


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces of hints and guesses."""
    return Discrete(4), Box(-BOUND, BOUND, (1,), np.float32)


def as_guess(space: Space[Any], action: Any) -> np.ndarray[Any, Any]:
    """Return a guess as an array of one number.

    Raises:
        InvalidAction: The guess is out of bounds, or no number.
    """
    try:
        guess = np.atleast_1d(np.asarray(action, dtype=np.float32))
    except (TypeError, ValueError):
        guess = np.empty(0, np.float32)
    if not space.contains(guess):
        raise InvalidAction(f"{action!r} ({type(action)}) invalid: expected one number, {space}.")
    return guess


KERNEL = Kernel(
    name="GuessingGame",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    info=info,
    spaces=spaces,
)


class GuessingGameEnv(KernelEnv):
    """A number between -1000 and 1000 is to be guessed in at most 200 tries.

    The action is the guess, an array of one number between -10000 and 10000. The observation is 0
    at first, then 1, 2 or 3 if the guess was below, at or above the number. A guess less than 10
    away pays 1 and ends the episode; the 200th guess ends it in any case.

    As in classic Gym, ``info["number"]`` is the answer: agents must not see it.
    ``info["guesses"]`` counts the guesses.
    """

    kernel = KERNEL

    def __init__(self) -> None:
        super().__init__(Params(RANGE, GUESSES))

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Make a guess; a bare number will do.

        Raises:
            InvalidAction: The guess is out of bounds, or no number.
        """
        return super().step(as_guess(self.action_space, action))
