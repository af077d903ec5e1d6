"""The parts of a result other than the observation, as plain data from a sandbox."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ludus.codec import DecodeLimits, decode
from ludus.errors import CodecError, Inadmissible

__all__ = ["admitted_flag", "admitted_info", "admitted_reward"]


def admitted_info(extra: bytes, limits: DecodeLimits) -> dict[str, Any]:
    """Return an info from its encoding.

    Raises:
        Inadmissible: it is no dict of plain data within the limits.
    """
    try:
        info = decode(extra, limits)
    except CodecError as problem:
        raise Inadmissible(f"info is not admitted: {problem}") from None
    if type(info) is not dict:
        raise Inadmissible(f"info is not admitted: expected a dict, got {type(info).__name__}.")
    return info


def admitted_reward(reward: Any, allowed: tuple[float, float]) -> float:
    """Return a reward as a float.

    Raises:
        Inadmissible: it is no finite number, or outside of the range.
    """
    kind = type(reward)
    if kind not in (float, int) and not issubclass(kind, np.integer | np.floating):
        raise Inadmissible(f"reward is not admitted: expected a number, got a {kind.__name__}.")
    try:
        number = float(reward)
    except OverflowError:
        number = math.inf
    low, high = allowed
    if not (math.isfinite(number) and low <= number <= high):
        raise Inadmissible(
            f"reward is not admitted: {number} is not finite, or not within {low} and {high}."
        )
    return number


def admitted_flag(flag: Any, name: str) -> bool:
    """Return a flag: a bool, or a byte of the header that is 0 or 1.

    Raises:
        Inadmissible: it is something else.
    """
    if type(flag) in (bool, np.bool_) or (type(flag) is int and flag in (0, 1)):
        return bool(flag)
    what = repr(flag)[:50] if type(flag) in (int, float, type(None)) else f"a {type(flag).__name__}"
    raise Inadmissible(f"{name} is not admitted: expected a bool, got {what}.")
