"""Checks of the options of Atari games."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.errors import Error, InvalidArgument

__all__ = ["check_count", "check_flag", "check_frameskip", "check_one_of", "check_share"]


def check_one_of(what: str, value: Any, known: tuple[Any, ...]) -> None:
    """Check that a value is one of those known.

    Raises:
        Error: It is not.
    """
    if value not in known:
        raise Error(f"Invalid {what}: {value!r}. Expecting one of {list(known)}.")


def check_count(name: str, value: Any, least: int) -> int:
    """Return a whole number that is not below ``least``.

    Raises:
        InvalidArgument: It is not an int.
        Error: It is too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidArgument(
            f"Invalid {name} type: {type(value)}, from {name}={value!r}; pass an int from {least}."
        )
    if value < least:
        raise Error(f"Invalid {name} of {value}; pass an int from {least}.")
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """Return a bool.

    Raises:
        InvalidArgument: It is not one.
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgument(f"{name} is {value!r}, a {type(value).__name__}; pass True or False.")
    return bool(value)


def check_share(name: str, value: Any) -> float:
    """Return a number from 0 to 1 as a float.

    Raises:
        InvalidArgument: It is not a number.
        Error: It lies outside.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} is {value!r}; pass a number from 0 to 1.") from None
    if not 0 <= number <= 1:
        raise Error(f"Invalid {name} of {value}; pass a number from 0 to 1.")
    return number


def check_frameskip(frameskip: Any) -> int | tuple[int, int]:
    """Return a frameskip that is a positive int, or a pair of them in ascending order.

    Raises:
        Error: It is not.
    """
    hint = "pass a positive int, or (low, high) with 0 < low < high"
    if type(frameskip) is int:
        if frameskip <= 0:
            raise Error(f"Invalid frameskip of {frameskip}: it must be positive; {hint}.")
        return frameskip
    if type(frameskip) is not tuple:
        raise InvalidArgument(f"Invalid frameskip type: {type(frameskip)}; {hint}.")
    if len(frameskip) != 2:
        raise Error(f"Invalid stochastic frameskip length of {len(frameskip)}; {hint}.")
    low, high = frameskip
    if not 0 < low < high:
        raise Error(f"Invalid stochastic frameskip {frameskip}; {hint}.")
    return low, high
