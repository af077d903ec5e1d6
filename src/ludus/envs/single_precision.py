"""Single precision in kernels, which compute in double precision.

Gym and Gymnasium compute parts of some environments in float32. Kernels compute in float64 and
round at the same places: the result of +, -, * or / on float32 numbers, computed in float64 and
rounded to float32, equals the float32 result bit for bit.
"""

from __future__ import annotations

__all__ = ["is_float32", "narrow", "round_to_float32"]

_SPLITTER = 2.0**29 + 1.0


def round_to_float32(x: float) -> float:
    """Return the float32 nearest to ``x``, ties to even, for results in float32's normal range.

    Veltkamp's splitting: multiplying by 2**29 + 1 and subtracting again leaves 24 of 53 bits.
    """
    scaled = x * _SPLITTER
    return scaled - (scaled - x)


def is_float32(x: float) -> bool:
    """Return whether float32 can hold ``x`` exactly."""
    return x == round_to_float32(x)


def narrow(x: float, single: bool) -> float:
    """Return ``x`` rounded to float32 if ``single``."""
    return round_to_float32(x) if single else x
