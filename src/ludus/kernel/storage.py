"""The memory a kernel's driver works on: rows over environments, as ``source.py`` names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ludus.errors import KernelError, StateError
from ludus.kernel.contract import Kernel
from ludus.kernel.driver import MODES
from ludus.kernel.generator import WORDS
from ludus.kernel.layout import Layout
from ludus.kernel.memory import aligned_zeros
from ludus.kernel.space_numbers import action_kinds, row_count
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["NO_LIMIT", "Storage"]

NO_LIMIT = 2**62
_PADDING = 16


def observation_dtype(space: Space[Any]) -> Any:
    """Return the dtype of the rows that hold an observation's numbers."""
    if isinstance(space, (Discrete, Box, MultiDiscrete, MultiBinary)):
        return space.dtype
    if isinstance(space, Tuple) and any(isinstance(part, Box) for part in space.spaces):
        return np.dtype(np.float64)
    return np.dtype(np.int64)


class _Columns(dict[str, Any]):
    """Rows by name, and bools that are kept as numbers."""

    def __init__(self, rows: dict[str, Any], bools: dict[str, Any]) -> None:
        super().__init__(rows)
        self._bools = bools

    def __missing__(self, name: str) -> Any:
        return self._bools[name] != 0


class Storage:
    """State, random words and results of ``n`` environments.

    ``F`` has a row per float: the state's, then the return and the last episode's return. ``I`` has
    one per int: the state's ints and bools, the steps taken and those of the last episode. ``R``
    holds the rewards, the infos and those of the last state before a reset, ``B`` the flags,
    ``both`` the observations and those before a reset, ``U`` the random words, ``P`` the params,
    then lowest and highest value of each int of an action, autoreset mode and time limit, ``A`` the
    actions, ``L`` a list of indices.

    A loop over environments vectorises if the numbers of a row lie side by side. The rows of ``F``
    and ``I`` do so where there is a chance of that; otherwise an environment's numbers do.
    """

    def __init__(
        self,
        kernel: Kernel,
        params: Any,
        observation: Space[Any],
        action: Space[Any],
        n: int,
        *,
        mode: int = MODES["by_caller"],
        limit: int = NO_LIMIT,
    ) -> None:
        self.kernel = kernel
        self.n = n
        fields = kernel.state_fields
        self._floats = [f.name for f in fields if f.kind == "float"]
        self._ints = [f.name for f in fields if f.kind in ("int", "bool")]
        self._kinds = {f.name: f.kind for f in fields}
        self._scalars = sum(f.kind != "array" for f in kernel.param_fields)
        self.action_kinds = action_kinds(kernel, action)
        self._padded: dict[str, Any] = {}
        self.A = self._rows_of(
            "A",
            (len(self.action_kinds),),
            np.int64 if self.action_kinds[0] == "int" else np.float64,
        )
        self.bounds = _action_bounds(action, len(self.action_kinds))
        rules = [*self.bounds.ravel().tolist(), mode, limit]
        self.P = np.array([*[0.0] * self._scalars, *rules], np.float64)
        self._make_rows(max(len(kernel.info_fields), 1))
        self.U = aligned_zeros((n, WORDS), np.uint64)
        self.B = self._rows_of("B", (3,), np.bool_)
        self.T, self.C, self.D = self.B
        self.rows = row_count(kernel, observation)
        self.both = self._make_observations(observation)
        self.O, self.OF = self.both
        self.seen = self.O.T if self._padded.get("both", self.both).ndim == 2 else self.O
        """The observations in the order in which they lie in memory."""
        shapes = kernel.state_arrays(params) if kernel.state_arrays is not None else {}
        self._arrays = {
            name: aligned_zeros((n, *shapes[name][0]), shapes[name][1])
            for name in kernel.array_fields
        }
        self._param_arrays: dict[str, Any] = {}
        self._set_params(params)
        arrays = self.arrays()
        self.layout = Layout.of(arrays)
        self._table = np.zeros(self.layout.size + 1, np.int64)
        self._by_place: dict[int, Any] | None = None
        self._describe(arrays)

    def _make_rows(self, infos: int) -> None:
        self.F = self._state_rows("F", len(self._floats) + 2, np.float64)
        self.I = self._state_rows("I", len(self._ints) + 2, np.int64)
        self.returns, self.last_returns = self.F[-2:]
        self.lengths, self.last_lengths = self.I[-2:]
        self._results = self._rows_of("R", (1 + 2 * infos,), np.float64)
        self.R = self._results[0]
        self.X, self.XF = self._results[1 : 1 + infos], self._results[1 + infos :]
        self.L = self._rows_of("L", (), np.int64)

    def _make_observations(self, space: Space[Any]) -> Any:
        """Return room for the observations and the last ones.

        If there are rows, the axis of numbers comes before that of environments. In memory an
        environment's numbers lie side by side, as those who store observations want them; those of
        a tuple, whose parts are arrays of their own, lie in rows.
        """
        dtype = observation_dtype(space)
        if not self.rows:
            return aligned_zeros((2, self.n, *(space.shape or ())), dtype)
        if isinstance(space, Tuple):
            return self._rows_of("both", (2, self.rows), dtype)
        self._padded["both"] = aligned_zeros((2, self.n * self.rows), dtype)
        return self._padded["both"].reshape(2, self.n, self.rows).swapaxes(1, 2)

    def _state_rows(self, name: str, count: int, dtype: Any) -> Any:
        if self.kernel.vectorises:
            return self._rows_of(name, (count,), dtype)
        self._padded[name] = aligned_zeros((self.n, count), dtype)
        return self._padded[name].T

    def _rows_of(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return rows of ``n`` numbers, with unused room behind each.

        Rows that are a power of two apart share few places of the cache, and would push one
        another out of it.
        """
        room = 1 if self.n == 1 else -(-self.n // _PADDING) * _PADDING + _PADDING
        self._padded[name] = aligned_zeros((*shape, room), dtype)
        return self._padded[name][..., : self.n]

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that a driver works on, by the names it has for them."""
        names = ("F", "I", "R", "L", "U", "P", "A", "both", "B")
        own = {name: self._padded.get(name, getattr(self, name)) for name in names}
        state = {f"S_{name}": array for name, array in self._arrays.items()}
        return own | state | {f"p_{name}": array for name, array in self._param_arrays.items()}

    def table(self, *, native: bool) -> Any:
        """Return what a driver takes as its table; the same one until the storage is gone."""
        if native:
            return self._table.ctypes.data
        if self._by_place is None:
            self._by_place = self.layout.by_place(self.arrays())
        return self._by_place

    def give(self, actions: Any) -> None:
        """Tell compiled code where the actions of the next step are, which must outlive it."""
        self._table[-1] = actions.ctypes.data

    def _describe(self, arrays: dict[str, Any]) -> None:
        """Write the table anew, in its place: drivers hold its address."""
        self._table[:-1] = self.layout.words(arrays)
        if self._by_place is not None:
            self._by_place.update(self.layout.by_place(arrays))

    @property
    def mode(self) -> int:
        """One of ``MODES``."""
        return int(self.P[-2])

    @mode.setter
    def mode(self, value: int) -> None:
        self.P[-2] = value

    def set_params(self, params: Any) -> None:
        """Put params where the driver reads them.

        Raises:
            KernelError: A field does not have the type its annotation says.
        """
        self._set_params(params)
        self._describe(self.arrays())

    def _set_params(self, params: Any) -> None:
        words = []
        for field, value in zip(self.kernel.param_fields, params, strict=True):
            if field.kind != "array":
                words.append(float(value))
                continue
            if not isinstance(value, np.ndarray):
                raise KernelError(
                    f"Kernel {self.kernel.name}: params.{field.name} is {type(value)}, its "
                    "annotation says np.ndarray."
                )
            before = self._param_arrays.get(field.name, value)
            if (value.dtype, value.ndim) != (before.dtype, before.ndim):
                raise KernelError(
                    f"Kernel {self.kernel.name}: params.{field.name} was of {before.dtype} with "
                    f"{before.ndim} axes and cannot become {value.dtype} with {value.ndim}."
                )
            self._param_arrays[field.name] = np.ascontiguousarray(value)
        self.params = params
        self.P[: self._scalars] = words

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
        """Set one environment's state.

        Raises:
            StateError: The kernel cannot work on it.
        """
        before = self.state_at(column)
        try:
            self._put(column, state)
            # As it is kept, not as it was given: a bool given as 0.5 is kept as False.
            self._check_valid(column)
        except Exception:
            self._put(column, before)
            raise

    def _put(self, column: int, state: Any) -> None:
        for name, value in zip(self.kernel.state._fields, state, strict=True):  # type: ignore[attr-defined]
            kind = self._kinds[name]
            if kind == "array":
                self._arrays[name][column] = value
            elif kind == "float":
                self.F[self._floats.index(name), column] = value
            else:
                self.I[self._ints.index(name), column] = int(value)

    def _check_valid(self, column: int) -> None:
        valid = self.kernel.valid
        state = self.state_at(column)
        if valid is not None and not valid(self.params, state):
            raise StateError(
                f"Kernel {self.kernel.name}: environment {column} cannot be in the state {state}."
            )

    def copy_column(self, column: int, other: Storage, source: int) -> None:
        """Take over one environment's state, random words, reward, infos and observation."""
        for mine, theirs in ((self.F, other.F), (self.I, other.I), (self._results, other._results)):
            mine[:, column] = theirs[:, source]
        self.U[column] = other.U[source]
        if self.rows:
            self.O[:, column] = other.O[:, source]
        else:
            self.O[column] = other.O[source]
        for name, array in self._arrays.items():
            array[column] = other._arrays[name][source]

    def columns(self) -> Mapping[str, Any]:
        """Return every field of the state as an array over environments.

        Numbers and arrays are views, bools are made anew at each look.
        """
        rows = dict(zip(self._ints, self.I, strict=False))
        bools = {name: rows.pop(name) for name in self._ints if self._kinds[name] == "bool"}
        floats = dict(zip(self._floats, self.F, strict=False))
        return _Columns(floats | rows | self._arrays, bools)

    def save(self) -> dict[str, Any]:
        """Return everything that changes, as plain data."""
        saved = {name: rows.copy() for name, rows in self._saved_rows().items()}
        return saved | {"arrays": {name: array.copy() for name, array in self._arrays.items()}}

    def load(self, saved: dict[str, Any], started: Any, *, draws: bool = True) -> None:
        """Undo :meth:`save`.

        Args:
            saved: What :meth:`save` returned.
            started: For each environment whether it has had a reset; one without is in no state,
                its numbers are zeros.
            draws: Whether random numbers come from the words.

        Raises:
            StateError: It holds a state that the kernel cannot work on; nothing has changed then.
        """
        before = self.save()
        try:
            self._fill(saved)
            self._check_words(np.asarray(started, np.bool_) & draws)
            if self.kernel.valid is not None:
                for column in range(self.n):
                    if started[column] or not self._is_blank(column):
                        self._check_valid(column)
        except Exception:
            self._fill(before)
            raise

    def _check_words(self, started: Any) -> None:
        """Check random words: a generator with an even increment may repeat one number for ever."""
        odd = self.U[:, 3] & np.uint64(1) == np.uint64(1)
        wrong = np.flatnonzero(started & ~(odd & (self.U[:, 4] < np.uint64(1 << 33))))
        if wrong.size:
            raise StateError(
                f"Kernel {self.kernel.name}: the random words of environment {wrong[0]} are not "
                "those of a PCG64 generator."
            )

    def _is_blank(self, column: int) -> bool:
        return not any(np.any(value) for value in self.state_at(column))

    def _fill(self, saved: dict[str, Any]) -> None:
        for name, rows in self._saved_rows().items():
            rows[...] = saved[name]
        for name, array in self._arrays.items():
            array[...] = saved["arrays"][name]

    def _saved_rows(self) -> dict[str, Any]:
        rows = {"F": self.F, "I": self.I, "R": self._results}
        return rows | {"U": self.U, "O": self.both, "B": self.B}


def _action_bounds(space: Space[Any], count: int) -> Any:
    """Return the lowest and highest value of each of an action's whole numbers."""
    if isinstance(space, Discrete):
        bounds = [(int(space.start), int(space.start) + int(space.n) - 1)]
    elif isinstance(space, Tuple):
        bounds = [_action_bounds(part, 1)[0] for part in space.spaces]
    elif isinstance(space, MultiDiscrete):
        ends = space.start + space.nvec - 1
        bounds = list(zip(space.start.tolist(), ends.tolist(), strict=True))
    elif isinstance(space, Box) and space.dtype.kind in "iu":
        bounds = list(zip(space.low.tolist(), space.high.tolist(), strict=True))
    else:
        bounds = [(0, 1)] * count
    return np.array(bounds, np.int64).reshape(count, 2)
