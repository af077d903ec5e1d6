"""Games defined by a table of transition probabilities.

The table has the usual form ``P[state][action]``, a list of ``(probability, next_state, reward,
terminated)``. :func:`tabulate` converts it to arrays for a kernel that runs every such game. Each
reset and each step draws exactly one random number, also if there is only one outcome.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.hooks import RefusesHooks
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
"""The columns of an outcome, which are in one array because every array makes calls slower."""


class Params(NamedTuple):
    """Sizes, cumulative start probabilities, and the table by state, action, outcome, column."""

    states: int
    actions: int
    outcomes: int
    start: np.ndarray[Any, Any]
    table: np.ndarray[Any, Any]


class State(NamedTuple):
    """The current state, and the reward, end and probability of the last outcome."""

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
    # Counts instead of searching, because the end of a search cannot be predicted.
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
    """Return the reward of the outcome."""
    return next_state.reward


def terminal(params: Params, state: State) -> bool:
    """Return whether the outcome ended the episode."""
    return state.terminated


def info(params: Params, state: State) -> Info:
    """Return the probability of the outcome."""
    return Info(state.prob)


def valid(params: Any, state: Any) -> bool:
    """Return whether the table has a row for the state."""
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


class Game(NamedTuple):
    """A table that environments share and must not change, and its start states."""

    table: Transitions
    starts: np.ndarray[Any, Any]
    params: Params
    pays_ints: bool

    @classmethod
    def of(cls, table: Transitions, starts: np.ndarray[Any, Any]) -> Game:
        """Build a game from a table and the probabilities of its start states."""
        return cls(table, starts, tabulate(table, starts), pays_ints(table))


def plain_rows(table: Transitions) -> Transitions:
    """Return a copy of a table of transitions, outcomes as tuples.

    Raises:
        ValueError: It is not a table of rows of outcomes.
    """
    rows: Transitions = {}
    try:
        for s in range(len(table)):
            choices = table[s]
            rows[s] = {a: [tuple(o) for o in choices[a]] for a in range(len(choices))}  # type: ignore[misc]
    except (KeyError, IndexError, TypeError) as problem:
        raise ValueError(
            f"P[state][action] is a list of (probability, next_state, reward, terminated) for "
            f"states and actions counted from 0; state {s} of {len(table)} is not."
        ) from problem
    return rows


def check_rows(rows: Transitions, states: int, actions: int) -> None:
    """Check a table of transitions against the sizes of a game.

    Raises:
        ValueError: It lacks a state or an action, or an outcome is not one of the game.
    """
    if len(rows) != states:
        raise ValueError(f"P has {len(rows)} states; this game has {states}.")
    for s, choices in rows.items():
        if len(choices) != actions:
            raise ValueError(f"P[{s}] has {len(choices)} actions; this game has {actions}.")
        for a, row in choices.items():
            if not row or not all(_is_outcome(outcome, states) for outcome in row):
                raise ValueError(
                    f"P[{s}][{a}] is {row!r}; expected a list of (probability, next_state, reward, "
                    f"terminated) with next states from 0 to {states - 1} and finite numbers."
                )


def pays_ints(table: Transitions) -> bool:
    """Return whether every reward of a table is an int."""
    rows = (row for choices in table.values() for row in choices.values())
    return all(isinstance(outcome[2], int) for row in rows for outcome in row)


def _is_outcome(found: Any, states: int) -> bool:
    try:
        chance, state, pay, _ = found
        fits = 0.0 <= chance <= 1.0 + 1e-9 and 0 <= operator.index(state) < states
        return fits and math.isfinite(pay)
    except (TypeError, ValueError):
        return False


def _taking_whole_floats(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a reader that accepts 2.0 for 2, as policies in float arrays return."""

    def take(action: Any) -> Any:
        whole = isinstance(action, float | np.floating) and action.is_integer()
        return read(int(action) if whole else action)

    return take


class TabularEnv(RefusesHooks, KernelEnv):
    """Base class of the games with a table, with the attributes that planners use.

    Attributes:
        P: The table, ``P[state][action]``, a list of (probability, next, reward, terminated);
            may be edited in place or assigned.
        initial_state_distrib: The probability of each start state; may be edited in place or
            assigned.
        s: The current state; may be assigned.
        lastaction: The last action, ``None`` after a reset.
        nS, nA, isd: Classic Gym's names for the sizes and the start distribution.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = ("_render_gui",)

    kernel = KERNEL
    # Gymnasium's names for the window, for subclasses with a render() of their own.
    window_surface: Any = None
    clock: Any = None
    _known: Transitions | None = None
    _distribution_shown = False

    def __init__(
        self,
        params: Any,
        game: Game,
        view: View,
        render_mode: str | None,
    ) -> None:
        self._whole = game.pays_ints
        # The copies that may be edited belong to this environment.
        own = params._replace(start=params.start.copy())
        super().__init__(own, render_mode=render_mode)
        self._transitions = game.table
        self.nS, self.nA = params.states, params.actions
        self.window_size = view.size
        self._distribution = game.starts.copy()
        self._view = view

    def _build(self) -> None:
        super()._build()
        self._write = _taking_whole_floats(self._write)

    @property
    def P(self) -> Transitions:  # noqa: N802 - Gymnasium's name
        """The table of transitions."""
        if self._known is None:
            self._known, self._transitions = self._transitions, plain_rows(self._transitions)
            self._watch()
        return self._transitions

    @P.setter
    def P(self, value: Transitions) -> None:  # noqa: N802
        self._retabulate(value)
        self._transitions = value

    def _is_watched(self) -> bool:
        return self._known is not None

    def _before_step(self, action: Any) -> None:
        """Check whether the row that the step will draw from was edited."""
        known: Any = self._known
        s = int(self._storage.columns()["s"][0])
        try:
            row, before = self._transitions[s][action], known[s][action]
        except (KeyError, IndexError, TypeError):
            # Either P lacks a row, or the step will reject the action.
            if self.action_space.contains(action):
                self._retabulate(self._transitions)
            return
        if type(row) is not list or row != before:
            self._retabulate(self._transitions)

    def _retabulate(self, table: Transitions) -> None:
        rows = plain_rows(table)
        check_rows(rows, self.nS, self.nA)
        if rows != self._known:
            made = tabulate(rows, self._distribution)
            self.params = self.params._replace(outcomes=made.outcomes, table=made.table)
        self._known = rows
        self._whole = pays_ints(rows)
        self._collect_arguments()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Draw a start state."""
        if self._distribution_shown:
            self.params.start[:] = np.cumsum(self._distribution)
        return super().reset(seed=seed, options=options)

    def _pays_ints(self) -> bool:
        return self._whole

    @property
    def s(self) -> int:
        """The current state."""
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

    @lastaction.setter
    def lastaction(self, value: int | None) -> None:
        self.last_action = value

    @property
    def initial_state_distrib(self) -> np.ndarray[Any, Any]:
        """The probability of each start state."""
        self._distribution_shown = True
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
        """Close the window."""
        self._view.close()
