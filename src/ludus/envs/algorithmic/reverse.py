"""Reverse: write the input backwards."""

from __future__ import annotations

from typing import Any

from ludus.envs.algorithmic.env import AlgorithmicEnv
from ludus.envs.algorithmic.tape import Params, State, begin, draw_input, task
from ludus.envs.arguments import positive_int

__all__ = ["KERNEL", "ReverseEnv"]


def initial(params: Params, state: State, rng: Any) -> State:
    """Draw an input; the target is its reverse."""
    min_length, streak, width = draw_input(params, state, rng)
    for i in range(width):
        state.target[i] = state.data[width - 1 - i, 0]
    return begin(params, state, min_length, streak, width, width, 2 * width + 4)


KERNEL = task("Reverse", initial)


class ReverseEnv(AlgorithmicEnv):
    """Write the tape backwards; see :class:`AlgorithmicEnv`.

    Args:
        base: Number of symbols.
        render_mode: ``"human"`` or ``"ansi"``.

    Raises:
        ValueError: ``base`` is not a positive integer.
    """

    kernel = KERNEL

    def __init__(self, base: int = 2, render_mode: str | None = None) -> None:
        super().__init__(Params(positive_int("base", base), 1, 2, 1, 50, -0.1), True, render_mode)
