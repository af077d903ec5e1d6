"""Roulette: bet on a number or its parity, or walk away."""

from __future__ import annotations

from typing import Any, NamedTuple

from ludus.envs.arguments import positive_int
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import integers
from ludus.spaces import Discrete, Space

__all__ = ["Params", "RouletteEnv", "State"]


class Params(NamedTuple):
    """The number of pockets on the wheel, zero included."""

    spots: int


class State(NamedTuple):
    """The last reward, and whether the player left the table."""

    reward: float
    left: bool


def initial(params: Params, rng: Any) -> State:
    """Return the state before the first spin."""
    return State(0.0, False)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Spin the wheel for a bet; the last action leaves without a spin."""
    if action == params.spots:
        return State(0.0, True)
    pocket = integers(rng, 0, params.spots)
    if action == 0 and pocket == 0:
        return State(params.spots - 1.0, False)
    if action != 0 and pocket != 0 and action % 2 == pocket % 2:
        return State(1.0, False)
    return State(-1.0, False)


def observation(params: Params, state: State) -> int:
    """Return 0, the only observation."""
    return 0


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return the reward of the spin."""
    return next_state.reward


def terminal(params: Params, state: State) -> bool:
    """Return whether the player walked away."""
    return state.left


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces of observations and bets."""
    return Discrete(1), Discrete(params.spots + 1)


KERNEL = Kernel(
    name="Roulette",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
)


class RouletteEnv(KernelEnv):
    """A wheel with the pockets 0 to 36, without memory: the observation is always 0.

    Action 0 bets on zero; actions 1 to 36 bet that the pocket is not zero and has the bet's parity,
    so all odd bets are one bet, and all even ones. Parity pays 1, losing costs 1. Action 37 walks
    away, which pays nothing and is the only way to end the episode.

    A bet on zero pays 36, as it always did in classic Gym, though 35 was documented and is what a
    casino pays. It is kept: betting on zero costs nothing on average, any other bet 1/37.

    Raises:
        ValueError: ``spots`` is not a positive integer.
    """

    kernel = KERNEL

    def __init__(self, spots: int = 37) -> None:
        super().__init__(Params(positive_int("spots", spots)))
