# mypy: disable-error-code="untyped-decorator"
"""Compiled versions of the functions of :mod:`ludus.kernel.random`, on five words of PCG64.

``rng`` is a row of the array of words. Imports numba, so it is only imported for compiling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ludus.kernel import random as plain
from ludus.kernel.native.jit import for_any_number
from ludus.kernel.native.numba_intrinsics import multiply_high

__all__ = ["REPLACEMENTS"]

_U = np.uint64
_MUL_HI, _MUL_LO = _U(0x2360ED051FC65DA4), _U(0x4385DF649FCCF645)
_MASK32 = _U(0xFFFFFFFF)
_SPARE = _U(1 << 32)
_32, _11, _58, _63, _64 = _U(32), _U(11), _U(58), _U(63), _U(64)
_0, _1 = _U(0), _U(1)


def _inlined(function: Any) -> Any:
    options = {"error_model": "numpy", "forceinline": True}
    unneeded = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return for_any_number(njit(**options, **unneeded)(function))


@_inlined
def _next64(rng: Any) -> Any:
    hi, lo = rng[0], rng[1]
    product_lo = lo * _MUL_LO
    product_hi = multiply_high(lo, _MUL_LO) + hi * _MUL_LO + lo * _MUL_HI
    new_lo = product_lo + rng[3]
    carry = _1 if new_lo < product_lo else _0
    new_hi = product_hi + rng[2] + carry
    rng[0], rng[1] = new_hi, new_lo
    value = new_hi ^ new_lo
    turn = new_hi >> _58
    return (value >> turn) | (value << ((_64 - turn) & _63))


@_inlined
def _next32(rng: Any) -> Any:
    """Return the spare half of the last draw, or the first half of a new one.

    Which of them cannot be predicted, so both are computed and one is selected by a mask; the
    compiler would make a branch of a conditional expression.
    """
    spare = rng[4]
    keep = _0 - ((spare >> _32) & _1)
    hi, lo = rng[0], rng[1]
    drawn = _next64(rng)
    rng[0] ^= (rng[0] ^ hi) & keep
    rng[1] ^= (rng[1] ^ lo) & keep
    rest = (drawn >> _32) | _SPARE
    rng[4] = rest ^ ((rest ^ (spare & _MASK32)) & keep)
    return (drawn ^ ((drawn ^ spare) & keep)) & _MASK32


@_inlined
def _random(rng: Any) -> Any:
    return np.float64(_next64(rng) >> _11) * (1.0 / 9007199254740992.0)


@_inlined
def _uniform(rng: Any, low: Any, high: Any) -> Any:
    return low + (high - low) * _random(rng)


@_inlined
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
    return np.int64(low) + np.int64(multiply_high(drawn, count))


@_inlined
def _integers_if(rng: Any, wanted: Any, low: Any, high: Any) -> Any:
    """Always draw, and undo it by masks if the number is not wanted."""
    span = _U(high - 1 - low)
    if high - low <= 1 or span >= _MASK32:
        return _integers(rng, low, high) if wanted else np.int64(0)
    count = span + _1
    want = _0 - _U(wanted)
    spare = rng[4]
    keep = _0 - ((spare >> _32) & _1)
    hi, lo = rng[0], rng[1]
    drawn = _next64(rng)
    product = ((drawn ^ ((drawn ^ spare) & keep)) & _MASK32) * count
    stay = keep | ~want
    rng[0] ^= (rng[0] ^ hi) & stay
    rng[1] ^= (rng[1] ^ lo) & stay
    if ((product & _MASK32) | ~want) < count:
        # The number may have to be drawn again.
        rng[0], rng[1] = hi, lo
        return _integers(rng, low, high)
    rest = (drawn >> _32) | _SPARE
    rest ^= (rest ^ (spare & _MASK32)) & keep
    rng[4] = spare ^ ((spare ^ rest) & want)
    return (np.int64(low) + np.int64(product >> _32)) & np.int64(want)


@_inlined
def _integers_below(rng: Any, first: Any, second: Any, both: Any) -> Any:
    """Take both numbers from one draw, the spare half first."""
    if first <= 1 or second <= 1 or first > _MASK32 or second > _MASK32:
        alone = _integers(rng, 0, first)
        return alone, _integers_if(rng, both, 0, second)
    want = _0 - _U(both)
    spare = rng[4]
    keep = _0 - ((spare >> _32) & _1)
    hi, lo = rng[0], rng[1]
    drawn = _next64(rng)
    rest = drawn >> _32
    first_product = ((drawn ^ ((drawn ^ spare) & keep)) & _MASK32) * _U(first)
    second_product = ((rest ^ ((rest ^ drawn) & keep)) & _MASK32) * _U(second)
    again = (first_product & _MASK32) < _U(first)
    if again or ((second_product & _MASK32) | ~want) < _U(second):
        # One of them may have to be drawn again, which shifts the following draws.
        rng[0], rng[1] = hi, lo
        alone = _integers(rng, 0, first)
        return alone, _integers_if(rng, both, 0, second)
    stay = keep & ~want
    rng[0] ^= (rng[0] ^ hi) & stay
    rng[1] ^= (rng[1] ^ lo) & stay
    # The upper half is spare, unless both were taken from the draw or the draw was not needed.
    left = rest ^ ((rest ^ (spare & _MASK32)) & stay)
    rng[4] = left | (_SPARE & ~(keep ^ want))
    return np.int64(first_product >> _32), np.int64(second_product >> _32) & np.int64(want)


REPLACEMENTS: dict[Any, Any] = {
    plain.integers: _integers,
    plain.integers_if: _integers_if,
    plain.integers_below: _integers_below,
    plain.random: _random,
    plain.uniform: _uniform,
}
