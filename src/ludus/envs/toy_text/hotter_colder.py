"""Hotter Colder: find a hidden number from a reward that grows as guesses come closer."""

from __future__ import annotations

from typing import Any

from ludus.envs.single_precision import round_to_float32
from ludus.envs.toy_text.guessing import GUESSES, GuessingEnv, Info, Params, State, game

__all__ = ["HotterColderEnv", "Info", "Params", "State"]


def reward(params: Params, state: State, action: Any, next_state: State) -> float:
    """Return the squared ratio of guess and number, both shifted to be positive; 1 for a hit.

    It is computed in single precision, as classic Gym's is from float32 guesses.
    """
    guess = round_to_float32(float(action[0]) + params.bound)
    number = round_to_float32(state.number + params.bound)
    if next_state.hint == 2:
        return 1.0
    ratio = round_to_float32(guess / number if next_state.hint == 1 else number / guess)
    return round_to_float32(ratio * ratio)


def terminal(params: Params, state: State) -> bool:
    """Return whether the guesses are used up."""
    return state.guesses >= GUESSES


KERNEL = game("HotterColder", reward, terminal)


class HotterColderEnv(GuessingEnv):
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
        super().__init__(Params(2000.0))
