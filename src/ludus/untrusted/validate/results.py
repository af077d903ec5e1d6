"""Checks of rewards, flags and infos from a sandbox."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ludus.codec import DecodeLimits, admit, decode
from ludus.errors import CodecError, Inadmissible
from ludus.spaces import Space

__all__ = ["COLUMN", "admitted_columns", "admitted_flag", "admitted_info", "admitted_reward"]


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


COLUMN = "\0column"
"""Marks a list that encodes an array of objects."""


def admitted_columns(
    told: dict[str, Any],
    num_envs: int,
    space: Space[Any],
    finals: Any | None,
    rounding_steps: int = 0,
) -> dict[str, Any]:
    """Return the infos with arrays of objects where lists stand for them.

    Args:
        told: plain data.
        num_envs: how many environments.
        space: observation space of a single environment, for last observations.
        finals: which environments ended in this step, where last observations are due.
        rounding_steps: how many floating-point numbers beyond a bound they may be.

    Raises:
        Inadmissible: a column has not an entry per environment, a mask is no array of bools, or
            last observations are not where, and what, they have to be.
    """
    infos = _columns(told, num_envs, "infos")
    if "final_obs" not in infos:
        return infos
    mask, column = infos.get("_final_obs"), infos["final_obs"]
    if mask is None or type(column) is not np.ndarray or column.dtype != object:
        raise Inadmissible("infos['final_obs'] is no column with a mask.")
    if finals is not None and (mask != finals).any():
        raise Inadmissible("infos['_final_obs'] is not where episodes ended.")
    for index in np.flatnonzero(mask).tolist():
        name = f"infos['final_obs'][{index}]"
        column[index] = admit(space, column[index], name=name, rounding_steps=rounding_steps)
    return infos


def _columns(told: dict[str, Any], num_envs: int, path: str) -> dict[str, Any]:
    infos: dict[str, Any] = {}
    for key, value in told.items():
        name = f"{path}[{key!r:.100}]"
        if type(value) is dict:
            infos[key] = _columns(value, num_envs, name)
        elif type(value) is tuple and len(value) == 2 and value[0] == COLUMN:
            infos[key] = _objects(value[1], num_envs, name)
        else:
            infos[key] = value
        if key.startswith("_") and key[1:] in told:
            mask = infos[key]
            if type(mask) is not np.ndarray or mask.dtype != np.bool_ or mask.shape != (num_envs,):
                raise Inadmissible(f"{name} is no mask of {num_envs} bools.")
    return infos


def _objects(entries: Any, num_envs: int, name: str) -> Any:
    if type(entries) is not list or len(entries) != num_envs:
        raise Inadmissible(f"{name} has not {num_envs} entries.")
    column = np.full(num_envs, None, dtype=object)
    for index, entry in enumerate(entries):
        column[index] = entry
    return column
