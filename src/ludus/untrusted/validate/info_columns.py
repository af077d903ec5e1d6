"""Infos of a batch from a sandbox: columns with an entry per environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.codec import admit
from ludus.errors import Inadmissible
from ludus.spaces import Space

__all__ = ["COLUMN", "admitted_columns"]

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
