"""RepeatCopy: write the input, then backwards, then again."""

from __future__ import annotations

from typing import Any

from ludus.envs.algorithmic.env import AlgorithmicEnv
from ludus.envs.algorithmic.tape import Params, State, begin, draw_input, task
from ludus.envs.arguments import positive_int

__all__ = ["KERNEL", "RepeatCopyEnv"]


def initial(params: Params, state: State, rng: Any) -> State:
    """Draw an input; the target is it, its reverse, and it again."""
    min_length, streak, width = draw_input(params, state, rng)
    for i in range(width):
        symbol = state.data[i, 0]
        state.target[i] = symbol
        state.target[2 * width - 1 - i] = symbol
        state.target[2 * width + i] = symbol
    return begin(params, state, min_length, streak, width, 3 * width, 4 * width + 4)


KERNEL = task("RepeatCopy", initial)


class RepeatCopyEnv(AlgorithmicEnv):
    """Write the tape forwards, backwards and forwards; see :class:`AlgorithmicEnv`.

    Args:
        base: Number of symbols.
        render_mode: ``"human"`` or ``"ansi"``.

    Raises:
        ValueError: ``base`` is not a positive integer.
    """

    kernel = KERNEL

    def __init__(self, base: int = 5, render_mode: str | None = None) -> None:
        super().__init__(Params(positive_int("base", base), 1, 2, 2, 50, -0.1), True, render_mode)
