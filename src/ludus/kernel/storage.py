"""The memory a kernel's driver works on: rows over environments, as ``source.py`` names them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.errors import KernelError
from ludus.kernel.contract import Kernel
from ludus.kernel.program import action_kinds, row_count
from ludus.kernel.words_rng import ROWS
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["Storage", "observation_dtype"]

NO_LIMIT = 2**62


def observation_dtype(space: Space[Any]) -> Any:
    """Return the dtype of the rows that hold an observation's numbers."""
    if isinstance(space, Box | MultiDiscrete | MultiBinary):
        return space.dtype
    if isinstance(space, Discrete):
        return space.dtype
    if isinstance(space, Tuple) and any(isinstance(part, Box) for part in space.spaces):
        return np.dtype(np.float64)
    return np.dtype(np.int64)


class Storage:
    """State, random words and results of ``n`` environments.

    For one environment everything that is a float lies in one array, :attr:`packed`, params
    included, and everything that is an int in another: a call then has few arguments to unpack.
    """

    def __init__(
        self,
        kernel: Kernel,
        params: Any,
        observation: Space[Any],
        action: Space[Any],
        n: int,
    ) -> None:
        self.kernel = kernel
        self.n = n
        fields = kernel.state_fields
        self._floats = [f.name for f in fields if f.kind == "float"]
        self._ints = [f.name for f in fields if f.kind in ("int", "bool")]
        self._kinds = {f.name: f.kind for f in fields}
        self._param_fields = kernel.param_fields
        scalars = sum(f.kind != "array" for f in self._param_fields)
        float_rows, int_rows = len(self._floats) + 2, len(self._ints) + 2
        infos = max(len(kernel.info_fields), 1)
        self.reward_at = scalars + float_rows
        self.info_at = self.reward_at + 1
        if n == 1:
            self.packed = np.zeros(self.info_at + infos)
            self.ints = np.zeros(int_rows, np.int64)
            self.P = self.packed[:scalars]
            self.F = self.packed[scalars : scalars + float_rows].reshape(float_rows, 1)
            self.I = self.ints.reshape(int_rows, 1)
            self.R = self.packed[self.reward_at : self.reward_at + 1]
            self.X = self.packed[self.info_at :].reshape(infos, 1)
        else:
            self.P = np.zeros(scalars)
            self.F = np.zeros((float_rows, n))
            self.I = np.zeros((int_rows, n), np.int64)
            self.R = np.zeros(n)
            self.X = np.zeros((infos, n))
        self.XF = np.zeros((infos, n))
        self.U = np.zeros((ROWS, n), np.uint64)
        self.T, self.C, self.D = (np.zeros(n, np.bool_) for _ in range(3))
        rows = row_count(kernel, observation)
        shape = (rows, n) if rows else (n, *(observation.shape or ()))
        dtype = observation_dtype(observation)
        self.O, self.OF = np.zeros(shape, dtype), np.zeros(shape, dtype)
        kinds = action_kinds(kernel, action)
        self.A = np.zeros((len(kinds), n), np.int64 if kinds[0] == "int" else np.float64)
        self.L = _action_bounds(action, len(kinds))
        shapes = kernel.state_arrays(params) if kernel.state_arrays is not None else {}
        self._arrays = {
            name: np.zeros((n, *shapes[name][0]), shapes[name][1]) for name in kernel.array_fields
        }
        self._param_arrays: tuple[Any, ...] = ()
        self.set_params(params)

    def set_params(self, params: Any) -> None:
        """Put params where the driver reads them.

        Raises:
            KernelError: A field does not have the type its annotation says.
        """
        words, arrays = [], []
        for field, value in zip(self._param_fields, params, strict=True):
            if field.kind == "array":
                if not isinstance(value, np.ndarray):
                    raise KernelError(
                        f"Kernel {self.kernel.name}: params.{field.name} is {type(value)}, its "
                        "annotation says np.ndarray."
                    )
                arrays.append(np.ascontiguousarray(value))
            else:
                words.append(float(value))
        self.P[:] = words
        self._param_arrays = tuple(arrays)
        self.extra = (*self._arrays.values(), *self._param_arrays)

    def state_at(self, column: int) -> Any:
        """Return one environment's state."""
        floats = dict(zip(self._floats, self.F[:, column].tolist(), strict=False))
        ints = dict(zip(self._ints, self.I[:, column].tolist(), strict=False))
        values = []
        for name in self.kernel.state._fields:  # type: ignore[attr-defined]
            kind = self._kinds[name]
            if kind == "array":
                values.append(self._arrays[name][column].copy())
            elif kind == "bool":
                values.append(bool(ints[name]))
            else:
                values.append(floats[name] if kind == "float" else ints[name])
        return self.kernel.state(*values)

    def set_state_at(self, column: int, state: Any) -> None:
        """Set one environment's state."""
        for name, value in zip(self.kernel.state._fields, state, strict=True):  # type: ignore[attr-defined]
            kind = self._kinds[name]
            if kind == "array":
                self._arrays[name][column] = value
            elif kind == "float":
                self.F[self._floats.index(name), column] = value
            else:
                self.I[self._ints.index(name), column] = int(value)

    def columns(self) -> dict[str, Any]:
        """Return every field of the state as an array over environments."""
        found: dict[str, Any] = dict(zip(self._floats, self.F, strict=False))
        for name, row in zip(self._ints, self.I, strict=False):
            found[name] = row.astype(np.bool_) if self._kinds[name] == "bool" else row
        return found | self._arrays

    def save(self) -> dict[str, Any]:
        """Return everything that changes, as plain data."""
        saved = {name: getattr(self, name).copy() for name in _SAVED}
        saved["arrays"] = {name: array.copy() for name, array in self._arrays.items()}
        return saved

    def load(self, saved: dict[str, Any]) -> None:
        """Undo :meth:`save`."""
        for name in _SAVED:
            getattr(self, name)[...] = saved[name]
        for name, array in self._arrays.items():
            array[...] = saved["arrays"][name]

    def run_reset(self, program: Any, mask: Any) -> None:
        """Reset the environments in the mask."""
        program.reset(
            self.F,
            self.I,
            self.U,
            self.P,
            self.O,
            self.T,
            self.C,
            self.D,
            self.X,
            mask,
            *self.extra,
        )


def _action_bounds(space: Space[Any], count: int) -> Any:
    """Return the lowest and highest value of each of an action's whole numbers."""
    if isinstance(space, Discrete):
        bounds = [(int(space.start), int(space.start) + int(space.n) - 1)]
    elif isinstance(space, Tuple):
        bounds = [_action_bounds(part, 1)[0] for part in space.spaces]
    elif isinstance(space, MultiDiscrete):
        ends = space.start + space.nvec - 1
        bounds = list(zip(space.start.tolist(), ends.tolist(), strict=True))
    else:
        bounds = [(0, 1)] * count
    return np.array(bounds, np.int64).reshape(count, 2)


_SAVED = ("F", "I", "U", "R", "O", "OF", "T", "C", "D", "X", "XF")
