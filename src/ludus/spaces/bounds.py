"""Converts the shape and bounds of a ``Box`` to arrays of its dtype."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NoReturn, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from ludus import logger
from ludus.spaces.errors import SpaceRangeError, SpaceTypeError, SpaceValueError

__all__ = [
    "Bound",
    "cast_bound",
    "check_shape",
    "dtype_limits",
    "infer_shape",
    "integer_limits",
    "is_number",
]

Bound: TypeAlias = int | float | np.number[Any] | NDArray[Any]

_INFINITY = {"low": -np.inf, "high": np.inf}


def is_number(value: object) -> TypeGuard[float]:
    """Whether ``value`` is a real Python or NumPy number, but not a bool."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def cast_bound(
    name: str, bound: Bound, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the bound as an array of the dtype, and which of its entries are finite.

    Args:
        name: ``"low"`` or ``"high"``.
        bound: A number for all entries, or an array of the shape.
        shape: Shape of the box.
        dtype: Dtype of the box; an infinite bound of a signed integer becomes the extreme integer.

    Raises:
        SpaceValueError: The bound is nan, infinite for an unsigned dtype, or of the wrong type,
            dtype or shape.
        SpaceRangeError: The bound does not fit the dtype.
    """
    if is_number(bound):
        value, finite = _cast_number(name, bound, dtype)
        return np.full(shape, value, dtype), np.full(shape, finite)
    if not isinstance(bound, np.ndarray):
        raise SpaceValueError(
            f"Box {name} should be a number or a np.ndarray, got {bound!r} of {type(bound)}"
        )
    if bound.dtype.kind not in "fiub":
        raise SpaceValueError(
            f"Box {name} should hold floating, integer, or bool numbers, got {bound.dtype}"
        )
    if bound.shape != shape:
        raise SpaceValueError(
            f"Box {name}.shape doesn't match the shape of the box: {name}.shape={bound.shape}, "
            f"shape={shape}"
        )
    return _cast_array(name, bound, dtype)


def _cast_number(name: str, bound: float, dtype: np.dtype[Any]) -> tuple[float, bool]:
    if isinstance(bound, np.generic):
        bound = bound.item()  # comparable with any limits
    smallest, largest = dtype_limits(dtype)
    if bound != bound:
        _refuse_nan(name, bound)
    if bound == _INFINITY[name]:
        if dtype.kind in "ub":
            _refuse_infinity(name, bound)
        if dtype.kind == "i":
            return (smallest if name == "low" else largest), False
        return bound, False
    opposite = dtype.kind == "f" and bound == -_INFINITY[name]
    if not (opposite or smallest <= bound <= largest):
        _refuse_range(name, bound, dtype)
    return bound, True


def _cast_array(
    name: str, bound: NDArray[Any], dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if np.isnan(bound).any():
        _refuse_nan(name, bound)
    infinite = bound == _INFINITY[name]
    finite = ~infinite
    if dtype.kind in "ub" and infinite.any():
        _refuse_infinity(name, bound)
    smallest, largest = dtype_limits(dtype)
    if not np.can_cast(bound.dtype, dtype):
        checked = bound[np.isfinite(bound) if dtype.kind == "f" else finite]
        if checked.dtype == np.float16:
            checked = checked.astype(np.float64)  # comparable with any limits
        if ((checked < smallest) | (checked > largest)).any():
            _refuse_range(name, bound, dtype)
        _warn_of_lost_precision(name, bound.dtype, dtype)
    if dtype.kind != "i":
        return bound.astype(dtype), finite
    # Integers have no infinity; the extreme one is filled in after the cast, to be exact.
    array = np.where(infinite, 0, bound).astype(dtype)
    array[infinite] = smallest if name == "low" else largest
    return array, finite


def _refuse_nan(name: str, bound: Bound) -> NoReturn:
    raise SpaceValueError(f"Box {name} must not contain `np.nan`, got {name}={bound}")


def _refuse_infinity(name: str, bound: Bound) -> NoReturn:
    raise SpaceValueError(
        f"Box with unsigned int dtype or bool cannot be infinite, got {name}={bound}; choose a "
        "signed or floating dtype, or a finite bound"
    )


def _refuse_range(name: str, bound: Bound, dtype: np.dtype[Any]) -> NoReturn:
    smallest, largest = dtype_limits(dtype)
    raise SpaceRangeError(
        f"Box {name} is out of bounds of the dtype: {name}={bound}, but {dtype} holds {smallest} "
        f"to {largest}; choose a wider dtype"
    )


def _warn_of_lost_precision(name: str, given: np.dtype[Any], dtype: np.dtype[Any]) -> None:
    if given.kind == dtype.kind == "f" and np.finfo(dtype).precision < np.finfo(given).precision:
        logger.warn(
            f"Box {name}'s precision lowered by casting to {dtype}, current {name}.dtype={given}"
        )


@cache
def dtype_limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the smallest and the largest finite number of a dtype."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    return integer_limits(dtype)


@cache
def integer_limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the smallest and the largest number of a dtype of integers."""
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def infer_shape(low: object, high: object) -> tuple[int, ...]:
    """Infer the shape of a box from its bounds."""
    arrays = [bound for bound in (low, high) if isinstance(bound, np.ndarray)]
    if arrays:
        if arrays[0].shape != arrays[-1].shape:
            raise SpaceValueError(
                f"Box low and high should have one shape, got low.shape={arrays[0].shape} and "
                f"high.shape={arrays[1].shape}"
            )
        shape: tuple[int, ...] = arrays[0].shape
        return shape
    if is_number(low) and is_number(high):
        return (1,)
    raise SpaceValueError(
        "Box shape is not specified, and low and high do not tell it: they should be numbers or "
        f"np.ndarrays, got {type(low)} and {type(high)}; pass shape=..."
    )


def check_shape(shape: object) -> tuple[int, ...]:
    """Return the shape as a tuple of Python ints."""
    if not isinstance(shape, Iterable):
        raise SpaceTypeError(
            f"Box shape should be an iterable of integers such as (3, 4), got {shape!r}"
        )
    lengths = tuple(shape)
    if not all(isinstance(length, (int, np.integer)) for length in lengths):
        raise SpaceTypeError(
            f"Box shape should hold integers only, got {lengths} of types "
            f"{[type(length).__name__ for length in lengths]}"
        )
    if any(length < 0 for length in lengths):
        raise SpaceValueError(f"Box shape must not be negative, got {lengths}")
    return tuple(int(length) for length in lengths)
