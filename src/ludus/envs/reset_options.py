"""Reads numbers from ``reset(options=...)``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

__all__ = ["check_range", "number_option", "reset_bounds", "with_reset_bounds"]

ParamsType = TypeVar("ParamsType", bound=NamedTuple)


def number_option(options: dict[str, Any] | None, key: str, default: float) -> float:
    """Return ``options[key]`` as a float.

    Raises:
        TypeError: The options are not a dict.
        ValueError: The option is not a number.
    """
    if not (options is None or isinstance(options, Mapping)):
        raise TypeError(f"reset(options=...) takes a dict, got {options!r}.")
    value = default if options is None else options.get(key, default)
    try:
        return float(value)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"An option ({key}={value!r}) could not be converted to a float; pass a number."
        ) from problem


def check_range(low: float, high: float) -> None:
    """Check that uniform numbers can be drawn between the bounds, as NumPy's generator does.

    Raises:
        OverflowError: The range is infinite or NaN.
        ValueError: The bounds are swapped.
    """
    if not math.isfinite(high - low):
        raise OverflowError(
            f"The range exceeds valid bounds: cannot draw between {low} and {high}; pass finite "
            "reset options."
        )
    if high < low:
        raise ValueError(
            f"high - low < 0: cannot draw between {low} and {high}; pass reset options that are "
            "not negative."
        )


def reset_bounds(options: dict[str, Any] | None, low: float, high: float) -> tuple[float, float]:
    """Return ``options["low"]`` and ``options["high"]``, or the defaults.

    Raises:
        TypeError: The options are not a dict.
        OverflowError: One is infinite or NaN.
        ValueError: One is not a number, or low exceeds high.
    """
    low = number_option(options, "low", low)
    high = number_option(options, "high", high)
    if low > high:
        raise ValueError(
            f"Lower bound ({low}) must be lower than higher bound ({high}): swap the reset "
            "options 'low' and 'high'."
        )
    check_range(low, high)
    return low, high


def with_reset_bounds(params: ParamsType, options: dict[str, Any] | None) -> ParamsType:
    """Return params whose ``initial_low`` and ``initial_high`` are the options' low and high.

    Raises:
        OverflowError, TypeError, ValueError: As for :func:`reset_bounds`.
    """
    if options is None:
        return params
    low, high = reset_bounds(options, params.initial_low, params.initial_high)  # type: ignore[attr-defined]
    return params._replace(initial_low=low, initial_high=high)
