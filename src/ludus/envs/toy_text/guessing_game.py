"""Guessing Game: find a hidden number from hints of higher and lower."""

from __future__ import annotations

from typing import Any

from ludus.envs.toy_text.guessing import GUESSES, GuessingEnv, Info, Params, State, game

__all__ = ["GuessingGameEnv", "Info", "Params", "State"]


def reward(params: Params, state: State, action: Any, next_state: State) -> float:
    """Return 1 for a guess near enough."""
    return 1.0 if next_state.near else 0.0


def terminal(params: Params, state: State) -> bool:
    """Return whether the number was found or the guesses are used up."""
    return state.near or state.guesses >= GUESSES


KERNEL = game("GuessingGame", reward, terminal)


class GuessingGameEnv(GuessingEnv):
    """A number between -1000 and 1000 is to be guessed in at most 200 tries.

    The action is the guess, an array of one number between -10000 and 10000. The observation is 0
    at first, then 1, 2 or 3 if the guess was below, at or above the number. A guess less than 10
    away pays 1 and ends the episode; the 200th guess ends it in any case.

    As in classic Gym, ``info["number"]`` is the answer: agents must not see it.
    ``info["guesses"]`` counts the guesses.
    """

    kernel = KERNEL

    def __init__(self) -> None:
        super().__init__(Params(10_000.0))
