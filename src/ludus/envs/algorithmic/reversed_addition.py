"""ReversedAddition: add numbers written one below the other, lowest digit first."""

from __future__ import annotations

from typing import Any

from ludus.envs.algorithmic.env import AlgorithmicEnv, at_least_one
from ludus.envs.algorithmic.tape import SPREAD, Params, State, begin, draw_symbols, level, task
from ludus.kernel.random import integers

__all__ = ["KERNEL", "ReversedAdditionEnv"]


def initial(params: Params, state: State, rng: Any) -> State:
    """Draw the digits; the target is the sum of the rows, with a digit more if one carries over."""
    min_length, streak = level(params, state)
    width = min_length + integers(rng, 0, SPREAD)
    draw_symbols(params, state, width, rng)
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
        at_least_one(rows=rows, base=base)
        super().__init__(Params(base, rows, 4, 2, 10, -1.0), False, render_mode)
