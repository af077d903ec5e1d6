"""Random draws for kernels, by name.

In plain Python ``rng`` is a NumPy generator and these functions call it. Compiled, each is replaced
by the same algorithm over the same PCG64 stream (:mod:`ludus.kernel.compiled_random`), so that both
draw the same bits.
"""

from __future__ import annotations

from typing import Any

__all__ = ["integers", "random", "two_integers", "uniform"]


def random(rng: Any) -> float:
    """Return a number from [0, 1), as ``Generator.random()``."""
    return float(rng.random())


def uniform(rng: Any, low: float, high: float) -> float:
    """Return a number from [low, high), as ``Generator.uniform(low, high)``."""
    return float(rng.uniform(low, high))


def integers(rng: Any, low: int, high: int) -> int:
    """Return an integer from ``low`` to ``high - 1``, as ``Generator.integers(low, high)``."""
    return int(rng.integers(low, high))


def two_integers(rng: Any, low: int, high: int) -> tuple[int, int]:
    """Return what two calls of :func:`integers` return, compiled for the price of one."""
    return integers(rng, low, high), integers(rng, low, high)
