"""Arithmetic that the kernels of this family share: clipping, angles, and single precision.

Gymnasium computes parts of these environments in NumPy's float32. Kernels work in float64, so they
round where it rounds: a result of +, -, * or / that is computed in float64 from float32 numbers and
then rounded to float32 is the float32 result, bit for bit.
"""

from __future__ import annotations

import math

__all__ = [
    "clip",
    "cos_float32",
    "is_float32",
    "narrow",
    "round_to_float32",
    "sin_float32",
    "wrap_angle",
]

_FULL_TURN = 2.0 * math.pi
_ROUNDER = 1.5 * 2.0**52
_SPLITTER = 2.0**29 + 1.0
_COS = (0x198E616 * 2.0**-40, -0x16C06DC * 2.0**-34, 0x155553C * 2.0**-29, -0.5, 1.0)
_SIN = (0x17D3BBC * 2.0**-43, -0x1A06BBA * 2.0**-37, 0x111119A * 2.0**-31, -0x1555556 * 2.0**-27)


def clip(x: float, low: float, high: float) -> float:
    """Return ``x`` moved into [low, high]; not a number stays what it is."""
    return low if x < low else (high if x > high else x)


def wrap_angle(x: float) -> float:
    """Return the same angle within half a turn either way.

    Adding and subtracting a number whose last bit is worth 1 rounds the turns to an integer.
    """
    turns = (x / _FULL_TURN + _ROUNDER) - _ROUNDER
    return x - turns * _FULL_TURN


def round_to_float32(x: float) -> float:
    """Return the float32 nearest to ``x``, ties to even, for results in float32's normal range.

    Veltkamp's splitting: multiplying by 2**29 + 1 and subtracting again leaves 24 of 53 bits.
    """
    scaled = x * _SPLITTER
    return scaled - (scaled - x)


def is_float32(x: float) -> bool:
    """Tell whether float32 can hold ``x`` exactly."""
    return x == round_to_float32(x)


def narrow(x: float, single: bool) -> float:
    """Return ``x`` rounded to float32 if ``single``."""
    return round_to_float32(x) if single else x


def cos_float32(x: float) -> float:
    """Return the cosine NumPy computes for a float32 up to π/4, last bit included.

    Its polynomial misses the nearest float32 about once in a thousand numbers.
    """
    square = round_to_float32(x * x)
    y = round_to_float32(_COS[0] * square + _COS[1])
    y = round_to_float32(y * square + _COS[2])
    y = round_to_float32(y * square + _COS[3])
    return round_to_float32(y * square + _COS[4])


def sin_float32(x: float) -> float:
    """Return the sine NumPy computes for a float32 up to π/4, last bit included."""
    square = round_to_float32(x * x)
    y = round_to_float32(_SIN[0] * square + _SIN[1])
    y = round_to_float32(y * square + _SIN[2])
    y = round_to_float32(y * square + _SIN[3])
    y = round_to_float32(y * square)
    return round_to_float32(y * x + x)
