# mypy: disable-error-code="untyped-decorator"
"""The draws of :mod:`ludus.kernel.random`, compiled, over five words of PCG64.

``rng`` is a column of the words' array. Imports numba; only the compiler imports this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ludus.kernel import random as plain

__all__ = ["REPLACEMENTS"]

_U = np.uint64
_MUL_HI, _MUL_LO = _U(0x2360ED051FC65DA4), _U(0x4385DF649FCCF645)
_MASK32 = _U(0xFFFFFFFF)
_SPARE = _U(1 << 32)
_32, _11, _58, _63, _64 = _U(32), _U(11), _U(58), _U(63), _U(64)
_0, _1 = _U(0), _U(1)


@njit(error_model="numpy")
def _multiply_high(a: Any, b: Any) -> Any:
    """Return the upper half of a 64-bit product."""
    a_hi, a_lo = a >> _32, a & _MASK32
    b_hi, b_lo = b >> _32, b & _MASK32
    low = a_lo * b_lo
    middle = a_hi * b_lo + (low >> _32)
    other = a_lo * b_hi + (middle & _MASK32)
    return a_hi * b_hi + (middle >> _32) + (other >> _32)


@njit(error_model="numpy")
def _next64(rng: Any) -> Any:
    hi, lo = rng[0], rng[1]
    product_lo = lo * _MUL_LO
    product_hi = _multiply_high(lo, _MUL_LO) + hi * _MUL_LO + lo * _MUL_HI
    new_lo = product_lo + rng[3]
    carry = _1 if new_lo < product_lo else _0
    new_hi = product_hi + rng[2] + carry
    rng[0], rng[1] = new_hi, new_lo
    value = new_hi ^ new_lo
    turn = new_hi >> _58
    return (value >> turn) | (value << ((_64 - turn) & _63))


@njit(error_model="numpy")
def _next32(rng: Any) -> Any:
    spare = rng[4]
    if spare & _SPARE != _0:
        rng[4] = spare & _MASK32
        return spare & _MASK32
    drawn = _next64(rng)
    rng[4] = (drawn >> _32) | _SPARE
    return drawn & _MASK32


@njit(error_model="numpy")
def _random(rng: Any) -> Any:
    return np.float64(_next64(rng) >> _11) * (1.0 / 9007199254740992.0)


@njit(error_model="numpy")
def _uniform(rng: Any, low: Any, high: Any) -> Any:
    return low + (high - low) * _random(rng)


@njit(error_model="numpy")
def _integers(rng: Any, low: Any, high: Any) -> Any:
    if high - low <= 1:
        return np.int64(low)
    span = _U(high - 1 - low)
    count = span + _1
    if span < _MASK32:
        product = _next32(rng) * count
        if (product & _MASK32) < count:
            threshold = (_MASK32 - span) % count
            while (product & _MASK32) < threshold:
                product = _next32(rng) * count
        return np.int64(low) + np.int64(product >> _32)
    if span == _MASK32:
        return np.int64(low) + np.int64(_next32(rng))
    drawn = _next64(rng)
    leftover = drawn * count
    if leftover < count:
        threshold = (_U(0xFFFFFFFFFFFFFFFF) - span) % count
        while leftover < threshold:
            drawn = _next64(rng)
            leftover = drawn * count
    return np.int64(low) + np.int64(_multiply_high(drawn, count))


REPLACEMENTS: dict[Any, Any] = {
    plain.random: _random,
    plain.uniform: _uniform,
    plain.integers: _integers,
}
