"""Checks of environment arguments: numbers, probabilities, counts."""

from __future__ import annotations

import math
import operator
from typing import Any

__all__ = ["number", "positive_int", "probability"]


def number(name: str, value: Any) -> float:
    """Return ``value`` as a float.

    Raises:
        TypeError: It is not a number.
        ValueError: It is a string that is not a number, or NaN.
    """
    try:
        converted = float(value)
    except (TypeError, ValueError) as problem:
        raise type(problem)(
            f"{name}={value!r} ({type(value).__name__}) is not a number; pass a float."
        ) from problem
    if math.isnan(converted):
        raise ValueError(f"{name} is NaN, with which nothing can be computed; pass a float.")
    return converted


def probability(name: str, value: Any) -> float:
    """Return ``value`` as a float between 0 and 1.

    Raises:
        TypeError: It is not a number.
        ValueError: It is out of range.
    """
    converted = number(name, value)
    if not 0 <= converted <= 1:
        raise ValueError(f"{name} is a probability from 0 to 1, got {value!r}.")
    return converted


def positive_int(name: str, value: Any) -> int:
    """Return ``value`` as an int of at least 1.

    Raises:
        ValueError: It is not an integer, or too small.
    """
    try:
        converted = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        converted = 0
    if converted < 1:
        raise ValueError(f"{name} is {value!r}; expected an integer of at least 1.")
    return converted
