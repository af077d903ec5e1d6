"""Random numbers for kernels.

In plain Python ``rng`` is a NumPy generator and these functions call it. Compiled, each is replaced
by the same algorithm on the same PCG64 state (:mod:`ludus.kernel.native.numba_random`), so both
draw the same numbers.

Example:
    >>> uniform(np.random.default_rng(0), -1.0, 1.0)
    0.2739233746429086
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
    """Return :func:`integers` if ``wanted``; otherwise return 0 and draw nothing.

    Compiled, it has no branch: a branch that the processor predicts wrongly costs more than a draw.
    """
    return integers(rng, low, high) if wanted else 0


def integers_below(rng: Any, first: int, second: int, both: bool) -> tuple[int, int]:
    """Return an integer below ``first``, and one below ``second``, or 0 if ``both`` is false.

    Same numbers as two calls of :func:`integers`, at the cost of one when compiled.
    """
    return integers(rng, 0, first), integers_if(rng, both, 0, second)
