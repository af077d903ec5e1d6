"""Reading numbers out of ``reset(options=...)``."""

from __future__ import annotations

from typing import Any

__all__ = ["number_option", "reset_bounds"]


def number_option(options: dict[str, Any] | None, key: str, default: float) -> float:
    """Return ``options[key]`` as a float.

    Raises:
        ValueError: The option is not a number.
    """
    value = default if options is None else options.get(key, default)
    try:
        return float(value)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"An option ({key}={value!r}) could not be converted to a float; pass a number."
        ) from problem


def reset_bounds(options: dict[str, Any] | None, low: float, high: float) -> tuple[float, float]:
    """Return ``options["low"]`` and ``options["high"]``, or the defaults.

    Raises:
        ValueError: One is not a number, or low exceeds high.
    """
    low = number_option(options, "low", low)
    high = number_option(options, "high", high)
    if low > high:
        raise ValueError(
            f"Lower bound ({low}) must be lower than higher bound ({high}): swap the reset "
            "options 'low' and 'high'."
        )
    return low, high
