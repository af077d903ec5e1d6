"""Reads the observations and infos of a batch from its storage."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ludus.kernel.env import KernelEnv
from ludus.kernel.space_values import tuple_parts
from ludus.kernel.storage import Storage
from ludus.spaces import Discrete, Tuple

if TYPE_CHECKING:
    from ludus.kernel.native.call.finals import FinalObservations

__all__ = ["BatchResults"]

_DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}


class BatchResults:
    """Observations and infos of all environments.

    Args:
        env: The environment whose kernel wrote the storage.
        storage: The storage.
        native: Whether native code may access Python objects.
    """

    def __init__(self, env: KernelEnv, storage: Storage, *, native: bool) -> None:
        self._native = native
        self._env = env
        self._storage = storage
        self._space = env.observation_space
        self._all = np.ones(storage.n, np.bool_)
        self._fills_arrays = env.kernel.writes_observation
        self._fields = env.kernel.info_fields
        self._names = [name for field in self._fields for name in (field.name, f"_{field.name}")]
        self.has_arrays = hasattr(env, "info_arrays")
        self.has_infos = bool(self._fields) or self.has_arrays
        # Parts with other dtypes than the rows are copied each time.
        self._has_equal_parts = isinstance(self._space, Tuple) and all(
            isinstance(part, Discrete) for part in self._space.spaces
        )
        is_view = self._has_equal_parts or not isinstance(self._space, Tuple)
        self.view = self.observations(storage.observations) if is_view else None
        """The observations as a view of the rows, if they can be one."""

    def use_native(self) -> None:
        """Use native code from now on."""
        self._native = True
        vars(self).pop("fill_finals", None)

    def observations(self, rows: Any) -> Any:
        """Return the observations in the structure of the batched space."""
        space = self._space
        if self._fills_arrays:
            return rows
        if isinstance(space, Discrete):
            return rows[0]
        if isinstance(space, Tuple):
            if self._has_equal_parts:
                return tuple(rows)
            return tuple(rows[at].T.astype(dtype) for _, at, dtype in tuple_parts(space))
        return rows.T

    def copied(self) -> Any:
        """Return a copy of the observations."""
        if self.view is None:
            return self.observations(self._storage.observations)
        if self._has_equal_parts:
            return tuple([part.copy() for part in self.view])
        return self.view.copy()

    def infos(self, rows: Any, mask: Any = None) -> dict[str, Any]:
        """Return the infos of the environments in the mask, by default of all."""
        columns = self._told(rows)
        if self.has_arrays:
            columns.update(self._arrays(self._storage.observations[0]))
        infos: dict[str, Any] = {}
        for name, values in columns.items():
            if mask is None:
                infos[name], infos[f"_{name}"] = values, self._all.copy()
            else:
                infos[name], infos[f"_{name}"] = _only(values, mask), mask.copy()
        return infos

    def _told(self, rows: Any) -> dict[str, Any]:
        """Return the infos that the kernel wrote, by name."""
        return {
            field.name: row.astype(_DTYPES[field.kind])
            for row, field in zip(rows, self._fields, strict=False)
        }

    def _arrays(self, observations: Any) -> dict[str, Any]:
        """Return the infos that are computed from observations of one number, by name."""
        return self._env.info_arrays(self._env.params, observations)  # type: ignore[attr-defined, no-any-return]

    def finals(self, over: Any) -> dict[str, Any]:
        """Return the infos about the episodes that ended in this step.

        Args:
            over: For each environment whether its episode is over.
        """
        at = np.flatnonzero(over)
        if self.fill_finals is not None:
            return self._named(at, *self.fill_finals.of(at))
        told: list[Any] = []
        for values in self._told(self._storage.final_infos).values():
            told += (_only(values, over), over.copy())
        return self._named(at, self._final_observations(at), over.copy(), over.copy(), *told)

    def listed_finals(self, fill: FinalObservations) -> Callable[[int], dict[str, Any]]:
        """Return a function from the number of episodes that ended in a step to its infos.

        The driver has listed the environments. The function makes few calls, because each takes a
        hundredth of a step.
        """
        fill_at_once, named, infos = fill.at_once, self._named, self.infos
        rows, listed = self._storage.infos, self._storage.listed

        def finals(count: int) -> dict[str, Any]:
            kept, over, told = fill_at_once(count) or fill(count)
            return {"final_obs": kept, "_final_obs": over, "final_info": {}, "_final_info": told}

        def finals_with_infos(count: int) -> dict[str, Any]:
            filled = fill_at_once(count) or fill(count)
            return infos(rows) | named(listed[:count], *filled)

        return finals_with_infos if self.has_infos else finals

    def _named(self, at: Any, kept: Any, over: Any, told: Any, *infos: Any) -> dict[str, Any]:
        """Return the infos of the finished episodes of the environments ``at``, by name."""
        final = dict(zip(self._names, infos, strict=True))
        if self.has_arrays:
            for name, values in self._arrays(self._storage.final_observations[0].take(at)).items():
                final[name] = np.zeros((len(over), *values.shape[1:]), values.dtype)
                final[name][at] = values
                final[f"_{name}"] = over.copy()
        return {"final_obs": kept, "_final_obs": over, "final_info": final, "_final_info": told}

    def _final_observations(self, indices: Any) -> Any:
        last = self.observations(self._storage.final_observations)
        kept = np.empty(self._storage.n, dtype=object)
        values: Any
        if isinstance(last, tuple):
            values = zip(*(_plain(part[indices]) for part in last), strict=True)
        else:
            values = _plain(last[indices])
        kept[indices] = np.fromiter(values, dtype=object, count=len(indices))
        return kept

    @cached_property
    def fill_finals(self) -> FinalObservations | None:
        """Native code for final observations that are arrays, ints or tuples of ints."""
        if not self._native:
            return None
        # Imported here, as the native code below: plain Python starts without it.
        from ludus.kernel.native.call.finals import FinalObservations
        from ludus.kernel.native.final_values import FinalForm

        space, storage = self._space, self._storage
        infos = tuple(field.kind for field in self._fields)
        if isinstance(space, Tuple):
            form, rows = FinalForm("tuple", len(space.spaces), infos), storage.final_observations
        elif isinstance(space, Discrete):
            form, rows = FinalForm("int", 1, infos), storage.final_observations[0]
        else:
            rows = self.observations(storage.final_observations)
            form = FinalForm("array", rows.ndim - 1, infos)
        if form.kind != "array" and rows.dtype != np.int64:
            return None
        return FinalObservations(form, rows, storage.listed, storage.final_infos)


def _plain(values: Any) -> Any:
    """Convert numbers to Python numbers, as a single environment returns them; keep arrays."""
    return values.tolist() if values.ndim == 1 else values


def _only(values: Any, mask: Any) -> Any:
    """Return the values of the environments in a mask, and zeros for the others."""
    kept = np.zeros(values.shape, values.dtype)
    np.copyto(kept, values, where=mask.reshape(-1, *[1] * (values.ndim - 1)))
    return kept
