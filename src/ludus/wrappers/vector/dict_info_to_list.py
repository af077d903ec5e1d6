"""Converts infos to a list with one dict per environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ludus.core.types import ActType, ArrayType, ObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.errors import Error

__all__ = ["DictInfoToList", "InfoLayoutError", "check_info_dict"]


class InfoLayoutError(Error, TypeError, AssertionError):
    """The infos of a vector environment have the wrong structure for a wrapper."""


def check_info_dict(infos: object, owner: object) -> None:
    """Raise :class:`InfoLayoutError` unless ``infos`` is a dict of batches."""
    if not isinstance(infos, dict):
        raise InfoLayoutError(
            f"{type(owner).__name__} requires the `info` type to be `dict`, its actual type is "
            f"{type(infos)}. Wrappers that change the structure of the infos, such as "
            "DictInfoToList, must be outermost."
        )


class DictInfoToList(VectorWrapper[ObsType, ActType, ObsType, ActType, ArrayType]):
    """Convert the infos from a dict of arrays to a list with one dict per environment.

    A dict has the keys whose mask ``_key`` is true for its environment, or that have no mask. Other
    wrappers expect the dict, so this one must be outermost.

    Raises:
        InfoLayoutError: ``reset`` or ``step`` gave infos other than a dict of arrays and dicts
            with one entry per environment.
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        super().__init__(env)

    def reset(  # type: ignore[override]
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, list[dict[str, Any]]]:
        """Reset the inner environments."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, self._as_list(infos)

    def step(  # type: ignore[override]
        self, actions: ActType
    ) -> tuple[ObsType, ArrayType, ArrayType, ArrayType, list[dict[str, Any]]]:
        """Step the inner environments."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return observations, rewards, terminations, truncations, self._as_list(infos)

    def _as_list(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        check_info_dict(infos, self)
        rows: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for key, column in infos.items():
            if key.startswith("_"):
                continue
            if isinstance(column, dict):
                column = self._as_list(column)
            else:
                self._check_column(key, column)
            chosen: Sequence[int] = range(self.num_envs)
            mask = infos.get(f"_{key}")
            if mask is not None:
                self._check_column(f"_{key}", mask)
                chosen = np.flatnonzero(mask).tolist()
            for i in chosen:
                rows[i][key] = column[i]
        return rows

    def _check_column(self, key: str, column: Any) -> None:
        if not isinstance(column, np.ndarray):
            raise InfoLayoutError(f"infos[{key!r}] must be a NumPy array, got {type(column)}.")
        if len(column) != self.num_envs:
            raise InfoLayoutError(
                f"infos[{key!r}] must have one entry for each of the {self.num_envs} environments, "
                f"got {len(column)}: {column}"
            )
