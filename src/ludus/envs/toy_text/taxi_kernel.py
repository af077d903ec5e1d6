"""The kernel of the taxi: a table of transitions, and passengers who change the destination."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.envs.toy_text.tabular import (
    NEXT_STATE,
    PROBABILITY,
    REWARD,
    TERMINATED,
    first_above,
    info,
    observation,
    outcome,
    reward,
    spaces,
    terminal,
    valid,
)
from ludus.kernel import Kernel
from ludus.kernel.random import integers, random

__all__ = ["KERNEL", "Params", "State"]


class Params(NamedTuple):
    """The table, as in :class:`ludus.envs.toy_text.tabular.Params`, and fickleness."""

    states: int
    actions: int
    outcomes: int
    start: np.ndarray[Any, Any]
    table: np.ndarray[Any, Any]
    fickle_passenger: bool
    fickle_probability: float


class State(NamedTuple):
    """The current state, the last outcome, and whether the passenger will change destination."""

    s: int
    prob: float
    reward: float
    terminated: bool
    fickle: bool


def initial(params: Params, rng: Any) -> State:
    """Draw a start, and the passenger's temper if some are fickle."""
    s = first_above(params.start, params.states, random(rng))
    fickle = False
    if params.fickle_passenger:
        fickle = random(rng) < params.fickle_probability
    return State(s, 1.0, 0.0, False, fickle)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Draw an outcome; a fickle passenger's first move draws another destination."""
    i = outcome(params.table, params.outcomes, state.s, action, random(rng))
    s = int(params.table[state.s, action, i, NEXT_STATE])
    fickle = state.fickle
    riding = state.s // 4 % 5 == 4
    if fickle and riding and s // 20 != state.s // 20:
        fickle = False
        other = integers(rng, 0, 3)
        destination = state.s % 4
        s = s - destination + (other if other < destination else other + 1)
    return State(
        s,
        float(params.table[state.s, action, i, PROBABILITY]),
        float(params.table[state.s, action, i, REWARD]),
        bool(params.table[state.s, action, i, TERMINATED] != 0.0),
        fickle,
    )


KERNEL = Kernel(
    name="Taxi",
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
