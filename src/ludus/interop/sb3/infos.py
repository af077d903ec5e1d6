"""Conversion of batch infos to SB3's format: one dict per environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["final_observation", "final_rows", "info_rows"]

_FINAL = frozenset({"final_obs", "final_info", "_final_obs", "_final_info"})


def info_rows(infos: dict[str, Any], num_envs: int, **common: Any) -> list[dict[str, Any]]:
    """Return a new dict per environment, without the entries of finished episodes.

    The mask ``_key`` selects the environments that have ``key``; without a mask, all have it.
    Numbers are converted to Python numbers.

    Args:
        infos: The infos of a vector environment.
        num_envs: Number of environments.
        **common: Entries of every environment.
    """
    rows = [{**common} for _ in range(num_envs)] if common else [{} for _ in range(num_envs)]
    for key, column in infos.items():
        if key in _FINAL or (key[:1] == "_" and key[1:] in infos):
            continue
        _enter(rows, key, _values(column, num_envs), infos.get(f"_{key}"))
    return rows


def final_rows(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]] | None:
    """Return the final infos of finished episodes, ``None`` if the batch has none."""
    final = infos.get("final_info")
    if isinstance(final, dict):
        return info_rows(final, num_envs)
    return None if final is None else [dict(row or {}) for row in final]


def final_observation(infos: dict[str, Any], index: int) -> Any:
    """Return the final observation of one finished episode.

    Raises:
        ValueError: The infos have no ``final_obs``.
    """
    if "final_obs" not in infos:
        raise ValueError(
            "The vector environment resets in the same step, but its infos have no 'final_obs', so "
            "the final observations of episodes are lost. Return them, or disable autoreset."
        )
    found = infos["final_obs"]
    if isinstance(found, dict):
        return {key: np.array(column[index]) for key, column in found.items()}
    one = found[index]
    return np.array(one) if found.dtype != object else one


def _enter(rows: list[dict[str, Any]], key: str, values: Sequence[Any], mask: Any) -> None:
    if mask is None or mask.all():
        for row, value in zip(rows, values, strict=True):
            row[key] = value
        return
    for index in np.flatnonzero(mask).tolist():
        rows[index][key] = values[index]


def _values(column: Any, num_envs: int) -> Sequence[Any]:
    if isinstance(column, dict):
        return info_rows(column, num_envs)
    if isinstance(column, np.ndarray) and column.ndim and len(column) == num_envs:
        values: list[Any] = column.tolist() if column.ndim == 1 else list(column)
        return values
    if isinstance(column, list | tuple) and len(column) == num_envs:
        return column
    return [column] * num_envs
