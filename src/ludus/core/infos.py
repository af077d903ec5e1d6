"""Merging the info dicts of many environments into one dict of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["add_info"]


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
