"""ReversedAddition: add numbers written one below the other, lowest digit first."""

from __future__ import annotations

from typing import Any

from ludus.envs.algorithmic.env import AlgorithmicEnv
from ludus.envs.algorithmic.tape import Params, State, begin, draw_input, task
from ludus.envs.arguments import positive_int

__all__ = ["KERNEL", "ReversedAdditionEnv"]


def initial(params: Params, state: State, rng: Any) -> State:
    """Draw the digits; the target is the sum of the rows, with a digit more if one carries over."""
    min_length, streak, width = draw_input(params, state, rng)
    total = 0
    for x in range(width):
        for y in range(params.rows):
            total += int(state.data[x, y])
        state.target[x] = total % params.base
        total //= params.base
    length = width
    if total > 0:
        state.target[width] = total
        length += 1
    return begin(params, state, min_length, streak, width, length, 2 * width + 4)


KERNEL = task("ReversedAddition", initial)


class ReversedAdditionEnv(AlgorithmicEnv):
    """Add the numbers in the rows of the grid; see :class:`AlgorithmicEnv`.

    The lowest digits stand on the left. An extra digit for the carry brings no extra time; with
    three rows, inputs of five columns and more cannot be read in time, only guessed.

    Args:
        rows: How many numbers.
        base: Their base.
        render_mode: ``"human"`` or ``"ansi"``.

    Raises:
        ValueError: ``rows`` or ``base`` is not a positive integer.
    """

    kernel = KERNEL

    def __init__(self, rows: int = 2, base: int = 3, render_mode: str | None = None) -> None:
        digits, numbers = positive_int("base", base), positive_int("rows", rows)
        super().__init__(Params(digits, numbers, 4, 2, 10, -1.0), False, render_mode)
