"""Arithmetic that the kernels of this family share: clipping, angles, float32's sine and cosine."""

from __future__ import annotations

import math

from ludus.envs.single_precision import round_to_float32

__all__ = ["clip", "cos_float32", "sin_float32", "wrap_angle"]

_FULL_TURN = 2.0 * math.pi
_TURNS = 1.0 / _FULL_TURN
_ROUNDER = 1.5 * 2.0**52
_COS = (0x198E616 * 2.0**-40, -0x16C06DC * 2.0**-34, 0x155553C * 2.0**-29, -0.5, 1.0)
_SIN = (0x17D3BBC * 2.0**-43, -0x1A06BBA * 2.0**-37, 0x111119A * 2.0**-31, -0x1555556 * 2.0**-27)


def clip(x: float, low: float, high: float) -> float:
    """Return ``x`` clipped to [low, high]; NaN stays NaN."""
    return low if x < low else (high if x > high else x)


def wrap_angle(x: float) -> float:
    """Return the equivalent angle in [-pi, pi].

    Adding and subtracting a number whose last bit is worth 1 rounds the turns to an integer.
    """
    turns = (x * _TURNS + _ROUNDER) - _ROUNDER
    return x - turns * _FULL_TURN


def cos_float32(x: float) -> float:
    """Return the cosine of a float32 up to π/4, with the last bit of NumPy's vector code.

    Its polynomial misses the nearest float32 about once in a thousand numbers. NumPy uses it on
    processors with fused multiply-add; this function gives its result on every one.
    """
    square = round_to_float32(x * x)
    y = round_to_float32(_COS[0] * square + _COS[1])
    y = round_to_float32(y * square + _COS[2])
    y = round_to_float32(y * square + _COS[3])
    return round_to_float32(y * square + _COS[4])


def sin_float32(x: float) -> float:
    """Return the sine of a float32 up to π/4; see :func:`cos_float32`."""
    square = round_to_float32(x * x)
    y = round_to_float32(_SIN[0] * square + _SIN[1])
    y = round_to_float32(y * square + _SIN[2])
    y = round_to_float32(y * square + _SIN[3])
    y = round_to_float32(y * square)
    return round_to_float32(y * x + x)
