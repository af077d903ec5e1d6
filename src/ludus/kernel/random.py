"""Random draws for kernels, by name.

In plain Python ``rng`` is a NumPy generator and these functions call it. Compiled, each is replaced
by the same algorithm over the same PCG64 stream (:mod:`ludus.kernel.native.numba_random`), so both
draw the same bits.
"""

from __future__ import annotations

from typing import Any

__all__ = ["integers", "integers_below", "integers_if", "random", "uniform"]


def random(rng: Any) -> float:
    """Return a number from [0, 1), as ``Generator.random()``."""
    return float(rng.random())


def uniform(rng: Any, low: float, high: float) -> float:
    """Return a number from [low, high), as ``Generator.uniform(low, high)``."""
    return float(rng.uniform(low, high))


def integers(rng: Any, low: int, high: int) -> int:
    """Return an integer from ``low`` to ``high - 1``, as ``Generator.integers(low, high)``."""
    return int(rng.integers(low, high))


def integers_if(rng: Any, wanted: bool, low: int, high: int) -> int:
    """Return what :func:`integers` returns; if it is not wanted 0, and nothing is drawn.

    Compiled, it takes the same time either way: a processor that cannot foresee whether it is
    wanted loses more time over a guess than over the draw.
    """
    return integers(rng, low, high) if wanted else 0


def integers_below(rng: Any, first: int, second: int, both: bool) -> tuple[int, int]:
    """Return an integer below ``first``, and one below ``second`` or 0 if not both are wanted.

    They are what :func:`integers` returns, compiled for the price of one.
    """
    return integers(rng, 0, first), integers_if(rng, both, 0, second)
