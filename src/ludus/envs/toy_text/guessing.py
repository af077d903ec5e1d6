"""Shared code of the games with a hidden number: the number, the guesses, and the hints.

Classic Gym's guesses are float32, and NumPy compares a float32 with a number as float32. So do the
kernels: a guess equals a number if it is the nearest float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ludus.core.finite import check_finite
from ludus.envs.single_precision import round_to_float32
from ludus.errors import InvalidAction
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import uniform
from ludus.spaces import Box, Discrete, Space

if TYPE_CHECKING:
    from ludus.kernel import KernelVectorEnv

__all__ = ["GUESSES", "GuessingEnv", "Info", "Params", "State", "as_guesses", "game", "transition"]

RANGE = 1000.0
GUESSES = 200
NEAR = 0.01 * RANGE


class Params(NamedTuple):
    """The largest absolute value of a guess."""

    bound: float


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
    """Draw the hidden number."""
    return State(uniform(rng, -RANGE, RANGE), 0, 0, False)


def transition(params: Params, state: State, action: Any, rng: Any) -> State:
    """Judge a guess."""
    guess = float(action[0])
    above = guess > round_to_float32(state.number - NEAR)
    below = guess < round_to_float32(state.number + NEAR)
    hint = hint_on(guess, round_to_float32(state.number))
    return State(state.number, state.guesses + 1, hint, above and below)


def observation(params: Params, state: State) -> int:
    """Return the hint, 0 before the first guess."""
    return state.hint


def info(params: Params, state: State) -> Info:
    """Return the answer and the guesses made."""
    return Info(state.number, state.guesses)


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces of hints and guesses."""
    return Discrete(4), Box(-params.bound, params.bound, (1,), np.float32)


def game(name: str, reward: Callable[..., float], terminal: Callable[..., bool]) -> Kernel:
    """Return the kernel of a game with its own rewards and ends."""
    return Kernel(
        name=name,
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


def as_guesses(space: Space[Any], guesses: Any) -> np.ndarray[Any, Any]:
    """Return guesses as an array of float32.

    Raises:
        InvalidAction: They are not numbers.
    """
    try:
        return np.asarray(guesses, dtype=np.float32)
    except (TypeError, ValueError) as problem:
        raise InvalidAction(
            f"{guesses!r} ({type(guesses)}) invalid: expected numbers in {space}."
        ) from problem


class GuessingEnv(KernelEnv):
    """A number between -1000 and 1000 is to be guessed; subclasses bring kernel and params."""

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Make a guess; a bare number will do.

        Raises:
            InvalidAction: The guess is out of bounds, or not a number.
        """
        guess = np.atleast_1d(as_guesses(self.action_space, action))
        check_finite(guess, self.action_space)
        if not self.action_space.contains(guess):
            raise InvalidAction(
                f"{action!r} ({type(action)}) invalid: expected one number, {self.action_space}."
            )
        return super().step(guess)

    @classmethod
    def vector_class(cls) -> type[KernelVectorEnv]:
        """Return the class of batches, which check guesses like a single game."""
        from ludus.envs.toy_text.guessing_vector import GuessingVectorEnv

        return GuessingVectorEnv
