"""Kelly Coinflip: how much to bet on a coin known to favour you (Haghani and Dewey, 2016)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.arguments import positive_int, probability
from ludus.envs.screen import show_text
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import random
from ludus.spaces import Box, Discrete, Space, Tuple

__all__ = ["BROKE", "KellyCoinflipEnv", "Params", "State", "settle"]

BROKE = 0.01
"""Amounts below this count as nothing."""


class Params(NamedTuple):
    """Money at the start, probability of heads, money at most, and rounds."""

    initial_wealth: float
    edge: float
    max_wealth: float
    max_rounds: int


class State(NamedTuple):
    """Money and rounds left."""

    wealth: float
    rounds: int


def settle(wealth: float, cents: int, won: bool, max_wealth: float) -> float:
    """Return the wealth after a bet of at most that wealth, paid at even money up to the cap."""
    bet = min(cents / 100.0, wealth)
    changed = wealth + bet if won else wealth - bet
    return max(0.0, min(changed, max_wealth))


def initial(params: Params, rng: Any) -> State:
    """Start with the full number of rounds."""
    return State(params.initial_wealth, params.max_rounds)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Bet ``action`` cents on heads."""
    won = random(rng) < params.edge
    return State(settle(state.wealth, action, won, params.max_wealth), state.rounds - 1)


def observation(params: Params, state: State) -> tuple[float, int]:
    """Return the money and the rounds left."""
    return state.wealth, state.rounds


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return the money in the end, nothing before."""
    return next_state.wealth if terminal(params, next_state) else 0.0


def terminal(params: Params, state: State) -> bool:
    """Return whether the money is gone, the cap reached, or the last round played."""
    return state.wealth < BROKE or state.wealth == params.max_wealth or state.rounds == 0


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces of observations and bets in cents."""
    money = Box(0, params.max_wealth, (1,), np.float32)
    return Tuple((money, Discrete(params.max_rounds + 1))), Discrete(int(params.max_wealth * 100))


KERNEL = Kernel(
    name="KellyCoinflip",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
)


class KellyCoinflipEnv(KernelEnv):
    """Bet on a coin that shows heads with probability ``edge``, at even money.

    The observation is the money as an array of one number, and the rounds left. The action is the
    bet in cents; more than there is counts as all of it. The episode ends when the money is gone,
    reaches the cap, or the rounds are over, and then pays the money held as the only reward.

    Args:
        initial_wealth: Money at the start.
        edge: Probability of heads.
        max_wealth: The cap; what exceeds it is lost.
        max_rounds: Rounds per episode.
        render_mode: ``human`` writes a line per step to standard output, ``ansi`` returns it.

    Raises:
        ValueError: A number is out of range; the message says which.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "ansi"],
        "render_fps": 4,
    }
    kernel = KERNEL

    def __init__(
        self,
        initial_wealth: float = 25.0,
        edge: float = 0.6,
        max_wealth: float = 250.0,
        max_rounds: int = 300,
        render_mode: str | None = None,
    ) -> None:
        if not math.isfinite(max_wealth):
            raise ValueError(f"max_wealth must be finite, got {max_wealth!r}.")
        if not BROKE <= initial_wealth <= max_wealth:
            raise ValueError(
                f"initial_wealth must be from {BROKE} to max_wealth={max_wealth!r}, got "
                f"{initial_wealth!r}."
            )
        super().__init__(
            Params(
                float(initial_wealth),
                probability("edge", edge),
                float(max_wealth),
                positive_int("max_rounds", max_rounds),
            ),
            render_mode=render_mode,
        )
        self.reward_range = (0.0, float(max_wealth))

    @property
    def wealth(self) -> float:
        """The money held."""
        return float(self.state.wealth)

    @property
    def rounds(self) -> int:
        """The rounds left."""
        return int(self.state.rounds)

    def render(self) -> str | None:
        """Return one line on money and rounds, or write it to standard output."""
        return show_text(self, self._line)

    def _line(self) -> str | None:
        if self.state is None:
            return None
        return f"Current wealth: {self.wealth}; Rounds left: {self.rounds}\n"
