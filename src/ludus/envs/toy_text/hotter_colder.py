"""Hotter Colder: find a hidden number from a reward that grows as guesses come closer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.envs.toy_text.guessing_game import (
    GUESSES,
    RANGE,
    Info,
    Params,
    State,
    as_guess,
    info,
    initial,
    observation,
    transition,
)
from ludus.kernel import Kernel, KernelEnv
from ludus.spaces import Box, Discrete, Space

__all__ = ["HotterColderEnv", "Info", "Params", "State"]

BOUND = 2000.0


def reward(params: Params, state: State, action: Any, next_state: State) -> float:
    """Return the squared ratio of guess and number, both shifted to be positive; 1 for a hit."""
    guess = float(action[0]) + BOUND
    number = state.number + BOUND
    ratio = guess / number if guess < number else number / guess
    return ratio * ratio


def terminal(params: Params, state: State) -> bool:
    """Tell whether the guesses are used up."""
    return state.guesses >= params.guesses


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces of hints and guesses."""
    return Discrete(4), Box(-BOUND, BOUND, (1,), np.float32)


KERNEL = Kernel(
    name="HotterColder",
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


class HotterColderEnv(KernelEnv):
    """A number between -1000 and 1000 is to be guessed, 200 times over.

    The action is the guess, an array of one number between -2000 and 2000. The observation is 0
    at first, then 1, 2 or 3 if the guess was below, at or above the number. The reward is
    ``((min(guess, number) + 2000) / (max(guess, number) + 2000)) ** 2``: at most 1, squared as in
    classic Gym's code though not in its description. Only the 200th guess ends the episode.

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
