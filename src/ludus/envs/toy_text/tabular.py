"""Games given by a table: for each state and action, what may happen and how likely it is.

The table in the form that planners use is ``P[state][action]``, a list of
``(probability, next_state, reward, terminated)``. :func:`tabulate` turns it into arrays, over which
one kernel runs every such game. Each reset and each step takes exactly one random number, also
where only one thing can happen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.envs.view import View
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import random
from ludus.spaces import Discrete, Space

__all__ = [
    "KERNEL",
    "NEXT_STATE",
    "PROBABILITY",
    "REWARD",
    "TERMINATED",
    "Info",
    "Params",
    "State",
    "TabularEnv",
    "Transitions",
    "first_above",
    "info",
    "observation",
    "outcome",
    "reward",
    "spaces",
    "tabulate",
    "terminal",
    "valid",
]

Transitions = dict[int, dict[int, list[tuple[float, int, float, bool]]]]


CUMULATIVE, PROBABILITY, NEXT_STATE, REWARD, TERMINATED = range(5)
"""The columns of an outcome. One array holds them all: compiled code gets each array by the call,
which takes longer than the step itself."""


class Params(NamedTuple):
    """Sizes, cumulative start probabilities, and the table by state, action, outcome, column."""

    states: int
    actions: int
    outcomes: int
    start: np.ndarray[Any, Any]
    table: np.ndarray[Any, Any]


class State(NamedTuple):
    """Where the game stands, and what the outcome that led there said."""

    s: int
    prob: float
    reward: float
    terminated: bool


class Info(NamedTuple):
    """The probability of the outcome that occurred."""

    prob: float


def first_above(cumulative: np.ndarray[Any, Any], count: int, draw: float) -> int:
    """Return the first index whose value exceeds ``draw``, 0 if rounding left none."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > draw:
            high = middle
        else:
            low = middle + 1
    return low if low < count else 0


def outcome(table: np.ndarray[Any, Any], count: int, state: int, action: int, draw: float) -> int:
    """Return which of the few outcomes of an action a draw selects."""
    # Counted rather than searched: where a search stops, no processor can guess.
    index = 0
    for k in range(count):
        index += 1 if table[state, action, k, CUMULATIVE] <= draw else 0
    return index if index < count else 0


def initial(params: Params, rng: Any) -> State:
    """Draw a start state."""
    return State(first_above(params.start, params.states, random(rng)), 1.0, 0.0, False)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Draw one of the outcomes of an action."""
    i = outcome(params.table, params.outcomes, state.s, action, random(rng))
    return State(
        int(params.table[state.s, action, i, NEXT_STATE]),
        float(params.table[state.s, action, i, PROBABILITY]),
        float(params.table[state.s, action, i, REWARD]),
        bool(params.table[state.s, action, i, TERMINATED] != 0.0),
    )


def observation(params: Params, state: State) -> int:
    """Return the number of the state."""
    return state.s


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return what the outcome pays."""
    return next_state.reward


def terminal(params: Params, state: State) -> bool:
    """Tell whether the outcome ended the episode."""
    return state.terminated


def info(params: Params, state: State) -> Info:
    """Return the probability of what happened."""
    return Info(state.prob)


def valid(params: Any, state: Any) -> bool:
    """Tell whether the table has a row for the state."""
    return 0 <= state.s < params.states  # type: ignore[no-any-return]


def spaces(params: Any) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces of states and actions."""
    return Discrete(params.states), Discrete(params.actions)


KERNEL = Kernel(
    name="Tabular",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    info=info,
    spaces=spaces,
    valid=valid,
)


def tabulate(transitions: Transitions, distribution: np.ndarray[Any, Any]) -> Params:
    """Return the parameters for a table and a distribution of start states.

    Outcomes that a state lacks are filled up with ones that no draw selects.
    """
    states, actions = len(transitions), len(transitions[0])
    outcomes = max(len(row) for choices in transitions.values() for row in choices.values())
    table = np.zeros((states, actions, outcomes, 5))
    for s, choices in transitions.items():
        for a, row in choices.items():
            table[s, a, : len(row), PROBABILITY:] = row
    table[..., CUMULATIVE] = np.cumsum(table[..., PROBABILITY], axis=2)
    return Params(states, actions, outcomes, np.cumsum(distribution), table)


class TabularEnv(KernelEnv):
    """Base of the games with a table; what planners and tutorials read of them.

    Attributes:
        P: The table, ``P[state][action]``, a list of (probability, next, reward, terminated).
            A description: changing it does not change the game.
        initial_state_distrib: The probability of each start state; assign to it to change it.
        s: The present state; may be assigned.
        lastaction: The last action, ``None`` after a reset.
        nS, nA, isd: Classic Gym's names for the sizes and the start distribution.
    """

    kernel = KERNEL

    def __init__(
        self,
        params: Any,
        table: Transitions,
        distribution: np.ndarray[Any, Any],
        view: View,
        render_mode: str | None,
    ) -> None:
        super().__init__(params, render_mode=render_mode)
        self.P = table
        self.nS, self.nA = params.states, params.actions
        self.window_size = view.size
        self._distribution = distribution
        self._view = view

    @property
    def s(self) -> int:
        """The present state."""
        return int(self.state.s)

    @s.setter
    def s(self, value: int) -> None:
        if not 0 <= int(value) < self.nS:
            raise ValueError(f"There is no state {value}; states run from 0 to {self.nS - 1}.")
        self.state = State(int(value), 1.0, 0.0, False)

    @property
    def lastaction(self) -> int | None:
        """The last action, ``None`` after a reset."""
        return None if self.last_action is None else int(self.last_action)

    @property
    def initial_state_distrib(self) -> np.ndarray[Any, Any]:
        """The probability of each start state."""
        return self._distribution

    @initial_state_distrib.setter
    def initial_state_distrib(self, value: np.ndarray[Any, Any]) -> None:
        distribution = np.asarray(value, dtype=np.float64)
        if distribution.shape != (self.nS,):
            raise ValueError(
                f"A start distribution has {self.nS} probabilities, one per state, got shape "
                f"{distribution.shape}."
            )
        self._distribution = distribution
        self.params.start[:] = np.cumsum(distribution)

    isd = initial_state_distrib

    def close(self) -> None:
        """Close the window, if one is open."""
        self._view.close()
