"""Merging the info dicts of many environments into one dict of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Columns", "Infos", "add_info", "merge_infos", "select_infos"]


class Columns(dict[str, Any]):
    """Infos of some environments as arrays with one entry each, without masks."""


Infos = Sequence[dict[str, Any]] | dict[str, Any]
"""Infos of some environments: a dict for each, or :class:`Columns`, or one dict that is merged."""


def add_info(
    vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int, num_envs: int
) -> dict[str, Any]:
    """Enter one environment's info into the batch's, in place, and return the batch's.

    Each key gets an array over the environments and, as ``_key``, a mask of those that gave it:
    numbers a numeric array, arrays a stacked one, dicts the same rule one level down, anything
    else (and every ``final_obs``) an object array.
    """
    for key, value in env_info.items():
        mask = vector_infos.get(f"_{key}")
        if mask is None:
            mask = np.zeros(num_envs, dtype=np.bool_)
        if isinstance(value, dict) and key != "final_obs":
            merged: Any = add_info(vector_infos.get(key, {}), value, env_num, num_envs)
        else:
            merged = vector_infos.get(key)
            if merged is None:
                merged = _empty_column(key, value, num_envs)
            merged[env_num] = value
        mask[env_num] = True
        vector_infos[key], vector_infos[f"_{key}"] = merged, mask
    return vector_infos


def _empty_column(key: str, value: Any, num_envs: int) -> np.ndarray[Any, Any]:
    if key != "final_obs":
        if type(value) in (int, float, bool) or isinstance(value, np.number):
            return np.zeros(num_envs, dtype=type(value))
        if isinstance(value, np.ndarray):
            return np.zeros((num_envs, *value.shape), dtype=value.dtype)
    return np.full(num_envs, None, dtype=object)


def select_infos(infos: Infos, at: Any) -> Infos:
    """Return those infos, of each environment or in columns, at the given positions."""
    if isinstance(infos, dict):
        return Columns({key: column[at] for key, column in infos.items()})
    return [infos[i] for i in at.tolist()]


def merge_infos(parts: Sequence[tuple[Any, Infos]], num_envs: int) -> dict[str, Any]:
    """Merge infos into one dict of arrays with masks.

    Args:
        parts: Pairs of the numbers of environments, in rising order, and their infos. A plain dict
            is merged already, and returned.
        num_envs: How many environments the batch has.
    """
    if type(parts[0][1]) is dict:
        return parts[0][1]
    merged: dict[str, Any] = {}
    told: list[tuple[int, dict[str, Any]]] = []
    for rows, infos in parts:
        if isinstance(infos, dict):
            _enter_columns(merged, infos, rows, num_envs)
        else:
            told += [(row, info) for row, info in zip(rows.tolist(), infos, strict=True) if info]
    if len(parts) > 1:
        # The first environment that gives a key decides about the column's dtype.
        told.sort(key=lambda pair: pair[0])
    for row, info in told:
        add_info(merged, info, row, num_envs)
    return merged


def _enter_columns(
    merged: dict[str, Any], columns: dict[str, Any], rows: Any, num_envs: int
) -> None:
    if len(rows) == num_envs:
        everyone = np.ones(num_envs, np.bool_)
        for key, column in columns.items():
            merged[key], merged[f"_{key}"] = column, everyone.copy()
    elif len(rows):
        for key, column in columns.items():
            mask = merged.get(f"_{key}")
            if mask is None:
                mask = merged[f"_{key}"] = np.zeros(num_envs, np.bool_)
                merged[key] = np.zeros((num_envs, *column.shape[1:]), column.dtype)
            merged[key][rows], mask[rows] = column, True
