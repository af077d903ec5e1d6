"""DuplicatedInput: write each repeated symbol once."""

from __future__ import annotations

from typing import Any

from ludus.envs.algorithmic.env import AlgorithmicEnv
from ludus.envs.algorithmic.tape import SPREAD, Params, State, begin, level, task
from ludus.envs.arguments import positive_int
from ludus.kernel.random import integers

__all__ = ["KERNEL", "DuplicatedInputEnv"]


def initial(params: Params, state: State, rng: Any) -> State:
    """Draw the target; the input repeats each of its symbols."""
    min_length, streak = level(params, state)
    size = max(min_length + integers(rng, 0, SPREAD), params.duplication)
    length = size // params.duplication
    width = length * params.duplication
    for i in range(length):
        state.target[i] = integers(rng, 0, params.base)
    for x in range(width):
        state.data[x, 0] = state.target[x // params.duplication]
    return begin(params, state, min_length, streak, width, length, width + length + 4)


KERNEL = task("DuplicatedInput", initial)


class DuplicatedInputEnv(AlgorithmicEnv):
    """Write every repeated symbol of the tape once; see :class:`AlgorithmicEnv`.

    Args:
        duplication: How often each symbol is repeated; an input is cut to a multiple of it.
        base: Number of symbols.
        render_mode: ``"human"`` or ``"ansi"``.

    Raises:
        ValueError: ``duplication`` or ``base`` is not a positive integer.
    """

    kernel = KERNEL

    def __init__(self, duplication: int = 2, base: int = 5, render_mode: str | None = None) -> None:
        params = Params(positive_int("base", base), 1, 2, 2, 10, -1.0)
        params = params._replace(duplication=positive_int("duplication", duplication))
        super().__init__(params, True, render_mode)
