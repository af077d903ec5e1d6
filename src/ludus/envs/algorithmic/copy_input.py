"""Copy: write the input as it is."""

from __future__ import annotations

from typing import Any

from ludus.envs.algorithmic.env import AlgorithmicEnv
from ludus.envs.algorithmic.tape import Params, State, begin, draw_input, task
from ludus.envs.arguments import positive_int

__all__ = ["KERNEL", "CopyEnv"]


def initial(params: Params, state: State, rng: Any) -> State:
    """Draw an input; the target equals it."""
    min_length, streak, width = draw_input(params, state, rng)
    for i in range(width):
        state.target[i] = state.data[i, 0]
    return begin(params, state, min_length, streak, width, width, 2 * width + 4)


KERNEL = task("Copy", initial)


class CopyEnv(AlgorithmicEnv):
    """Copy the symbols of the tape; see :class:`AlgorithmicEnv`.

    Args:
        base: Number of symbols.
        chars: Show them as letters instead of digits.
        render_mode: ``"human"`` or ``"ansi"``.

    Raises:
        ValueError: ``base`` is not a positive integer.
    """

    kernel = KERNEL

    def __init__(self, base: int = 5, chars: bool = True, render_mode: str | None = None) -> None:
        super().__init__(Params(positive_int("base", base), 1, 2, 2, 10, -1.0), chars, render_mode)
