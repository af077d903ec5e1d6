"""What a batch of a kernel's environments returns, read from the rows of its storage."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ludus.kernel.env import KernelEnv
from ludus.kernel.finals_call import FinalObservations
from ludus.kernel.storage import Storage
from ludus.spaces import Discrete, Tuple

__all__ = ["BatchResults"]

_DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}


class BatchResults:
    """Observations and infos of all environments.

    Args:
        env: The environment whose kernel wrote the rows.
        storage: The rows.
        native: Whether native code may read Python's objects here.
    """

    def __init__(self, env: KernelEnv, storage: Storage, *, native: bool) -> None:
        self._native = native
        self._env = env
        self._storage = storage
        self._space = env.observation_space
        self._columns = storage.columns()
        self._all = np.ones(storage.n, np.bool_)
        self._fills_arrays = env.kernel.writes_observation
        self._fields = env.kernel.info_fields
        self.has_arrays = hasattr(env, "info_arrays")
        self.has_infos = bool(self._fields) or self.has_arrays
        # Parts of other dtypes than the rows have are put together anew each time.
        self._has_equal_parts = isinstance(self._space, Tuple) and all(
            isinstance(part, Discrete) for part in self._space.spaces
        )
        is_view = self._has_equal_parts or not isinstance(self._space, Tuple)
        self.view = self.observations(storage.O) if is_view else None
        """The observations as a view of the rows, if they can be one."""

    def observations(self, rows: Any) -> Any:
        """Return the observations in the form of the batched space."""
        space = self._space
        if self._fills_arrays:
            return rows
        if isinstance(space, Discrete):
            return rows[0]
        if isinstance(space, Tuple):
            return tuple(rows) if self._has_equal_parts else self._parts(rows, space)
        return rows.T

    def copied(self) -> Any:
        """Return a copy of the observations."""
        if self.view is None:
            return self.observations(self._storage.O)
        if self._has_equal_parts:
            return tuple([part.copy() for part in self.view])
        return self.view.copy()

    @staticmethod
    def _parts(rows: Any, space: Tuple) -> tuple[Any, ...]:
        parts, at = [], 0
        for part in space.spaces:
            if isinstance(part, Discrete):
                parts.append(rows[at].astype(np.int64))
                at += 1
            else:
                size = int(np.prod(part.shape or (1,)))
                parts.append(rows[at : at + size].T.astype(part.dtype))
                at += size
        return tuple(parts)

    def infos(self, rows: Any, mask: Any = None) -> dict[str, Any]:
        """Return the infos of the environments in the mask, or of all."""
        columns = {
            field.name: row.astype(_DTYPES[field.kind])
            for row, field in zip(rows, self._fields, strict=False)
        }
        if self.has_arrays:
            columns.update(self._env.info_arrays(self._env.params, self._columns))  # type: ignore[attr-defined]
        infos: dict[str, Any] = {}
        for name, values in columns.items():
            if mask is None:
                infos[name], infos[f"_{name}"] = values, self._all.copy()
            else:
                kept = np.zeros(values.shape, values.dtype)
                np.copyto(kept, values, where=mask.reshape(-1, *[1] * (values.ndim - 1)))
                infos[name], infos[f"_{name}"] = kept, mask.copy()
        return infos

    def finals(self, over: Any, final_infos: dict[str, Any]) -> dict[str, Any]:
        """Return the infos that tell of the episodes which ended in this step.

        Args:
            over: Of each environment whether its episode is over.
            final_infos: The infos of these episodes' last states.
        """
        if self.fill_finals is not None:
            return _told(final_infos, *self.fill_finals.of(over))
        return _told(final_infos, self._final_observations(over), over.copy(), over.copy())

    def listed_finals(self, fill: FinalObservations) -> Callable[[int], dict[str, Any]]:
        """Return a function that returns the same for so many environments that a loop has listed.

        It is for environments without infos, and makes few calls: each takes as long as a hundredth
        of a step.
        """
        fill_at_once = fill.at_once

        def finals(count: int) -> dict[str, Any]:
            kept, over, told = fill_at_once(count) or fill(count)
            return {"final_obs": kept, "_final_obs": over, "final_info": {}, "_final_info": told}

        return finals

    def _final_observations(self, over: Any) -> Any:
        last = self.observations(self._storage.OF)
        kept = np.empty(self._storage.n, dtype=object)
        indices = np.flatnonzero(over)
        values: Any
        if isinstance(last, tuple):
            values = zip(*(_plain(part[indices]) for part in last), strict=True)
        else:
            values = _plain(last[indices])
        kept[indices] = np.fromiter(values, dtype=object, count=len(indices))
        return kept

    @cached_property
    def fill_finals(self) -> FinalObservations | None:
        """The native way to the last observations, where they are arrays."""
        if not self._native or isinstance(self._space, Discrete | Tuple):
            return None
        storage = self._storage
        return FinalObservations(self.observations(storage.OF), storage.L)


def _plain(values: Any) -> Any:
    """Return numbers as an environment alone returns them; arrays stay as they are."""
    return values.tolist() if values.ndim == 1 else values


def _told(final_infos: dict[str, Any], kept: Any, over: Any, told: Any) -> dict[str, Any]:
    return {
        "final_obs": kept,
        "_final_obs": over,
        "final_info": final_infos,
        "_final_info": told,
    }
