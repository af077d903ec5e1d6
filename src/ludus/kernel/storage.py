"""The arrays that a kernel's driver works on, with one column per environment."""

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
from ludus.kernel.space_values import (
    action_bounds,
    action_kinds,
    observation_dtype,
    row_count,
)
from ludus.spaces import Space, Tuple

__all__ = ["NO_LIMIT", "Storage"]

NO_LIMIT = 2**62
_PADDING = 16
_DRIVER_NAMES = ("F", "I", "R", "L", "U", "P", "A", "both", "B")


class _Columns(dict[str, Any]):
    """Rows by name; bools, which are stored as numbers, are converted on access."""

    def __init__(self, rows: dict[str, Any], bools: dict[str, Any]) -> None:
        super().__init__(rows)
        self._bools = bools

    def __missing__(self, name: str) -> Any:
        return self._bools[name] != 0


class Storage:
    """State, random words and results of ``n`` environments.

    A driver works on nine arrays and those of the state and the params. Its source has short names
    for them: ``F`` and ``I`` are :attr:`floats` and :attr:`ints`, ``R`` holds :attr:`rewards`,
    :attr:`infos` and :attr:`final_infos`, ``L`` is :attr:`listed`, ``U`` :attr:`rng_words`, ``P``
    :attr:`parameters`, ``A`` :attr:`actions`, ``both`` holds :attr:`observations` and
    :attr:`final_observations`, ``B`` :attr:`flags`.

    A loop over environments vectorises if the numbers of a row are contiguous. The rows of
    :attr:`floats` and :attr:`ints` are contiguous if the kernel's loop can vectorise; otherwise the
    numbers of an environment are.

    Args:
        kernel: The kernel.
        params: Its params.
        observation: The observation space of one environment.
        action: The action space of one environment.
        n: How many environments.
        mode: One of ``MODES``.
        limit: Steps after which an episode is truncated.
    """

    floats: Any
    """A row per float of the state, then the returns so far and those of the last episodes."""
    ints: Any
    """A row per int and bool of the state, then the steps so far and those of the last episodes."""
    rewards: Any
    infos: Any
    """A row per number of an info."""
    final_infos: Any
    """The infos before a reset within the step."""
    listed: Any
    """Indices of environments, used by the driver."""
    rng_words: Any
    """The random generators, ``WORDS`` numbers each."""
    parameters: Any
    """The numbers of the params, the bounds of each int of an action, the mode and the limit."""
    actions: Any
    """A row per number of an action."""
    observations: Any
    final_observations: Any
    """The observations before a reset within the step."""
    raw_observations: Any
    """The observations in the order of memory."""
    flags: Any
    """The rows :attr:`terminated`, :attr:`truncated` and :attr:`waiting` (for a reset)."""

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
        self._float_names, self._int_names = kernel.float_fields, kernel.int_fields
        self._kinds = kernel.state_kinds
        self._scalars = sum(f.kind != "array" for f in kernel.param_fields)
        self._buffers: dict[str, Any] = {}
        self.action_kinds = action_kinds(kernel, action)
        count = len(self.action_kinds)
        self.actions = self._rows("A", (count,), f"{self.action_kinds[0]}64")
        self.bounds = action_bounds(action, count)
        rules = [*self.bounds.ravel().tolist(), mode, limit]
        self.parameters = np.array([*[0.0] * self._scalars, *rules], np.float64)
        self.rng_words = aligned_zeros((n, WORDS), np.uint64)
        self._buffers |= {"P": self.parameters, "U": self.rng_words}
        self._make_rows(max(len(kernel.info_fields), 1))
        self.rows = row_count(kernel, observation)
        self._make_observations(observation)
        shapes = kernel.state_arrays(params) if kernel.state_arrays is not None else {}
        self._arrays = {
            name: aligned_zeros((n, *shapes[name][0]), shapes[name][1])
            for name in kernel.array_fields
        }
        self._param_arrays: dict[str, Any] = {}
        self._set_params(params)
        self.layout = Layout.of(self.arrays())
        self._table: Any = None
        self._by_place: dict[int, Any] | None = None

    def _make_rows(self, infos: int) -> None:
        self.floats = self._state_rows("F", len(self._float_names) + 2, np.float64)
        self.ints = self._state_rows("I", len(self._int_names) + 2, np.int64)
        self.returns, self.last_returns = self.floats[-2:]
        self.lengths, self.last_lengths = self.ints[-2:]
        self._results = self._rows("R", (1 + 2 * infos,), np.float64)
        self.rewards = self._results[0]
        self.infos, self.final_infos = self._results[1 : 1 + infos], self._results[1 + infos :]
        self.flags = self._rows("B", (3,), np.bool_)
        self.terminated, self.truncated, self.waiting = self.flags
        self.listed = self._rows("L", (), np.int64)

    def _make_observations(self, space: Space[Any]) -> None:
        """Allocate the observations and the final ones.

        If an observation has rows, the axis of numbers comes before that of environments. In memory
        the numbers of an environment are contiguous, as needed for storing observations; for a
        tuple, whose parts are separate arrays, the rows are.
        """
        dtype = observation_dtype(space)
        if not self.rows:
            self._both = aligned_zeros((2, self.n, *(space.shape or ())), dtype)
            self._buffers["both"] = self._both
        elif isinstance(space, Tuple):
            self._both = self._rows("both", (2, self.rows), dtype)
        else:
            buffer = self._buffers["both"] = aligned_zeros((2, self.n * self.rows), dtype)
            self._both = buffer.reshape(2, self.n, self.rows).swapaxes(1, 2)
        self.observations, self.final_observations = self._both
        by_env = self._buffers["both"].ndim == 2
        self.raw_observations = self.observations.T if by_env else self.observations

    def _state_rows(self, name: str, count: int, dtype: Any) -> Any:
        if self.kernel.vectorises:
            return self._rows(name, (count,), dtype)
        self._buffers[name] = aligned_zeros((self.n, count), dtype)
        return self._buffers[name].T

    def _rows(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """Allocate rows of ``n`` numbers, padded at the end.

        Rows that are a power of two apart would map to the same cache sets and evict one another.
        """
        if self.n == 1:
            self._buffers[name] = whole = aligned_zeros((*shape, 1), dtype)
            return whole
        room = -(-self.n // _PADDING) * _PADDING + _PADDING
        self._buffers[name] = aligned_zeros((*shape, room), dtype)
        return self._buffers[name][..., : self.n]

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that a driver works on, by their names in its source."""
        own = {name: self._buffers[name] for name in _DRIVER_NAMES}
        state = {f"S_{name}": array for name, array in self._arrays.items()}
        return own | state | {f"p_{name}": array for name, array in self._param_arrays.items()}

    def table(self, *, native: bool) -> Any:
        """Return the table for a driver; the same object during the storage's lifetime."""
        if native:
            if self._table is None:
                self._table = np.zeros(self.layout.size + 1, np.int64)
                self._describe()
            return self._table.ctypes.data
        if self._by_place is None:
            self._by_place = self.layout.by_place(self.arrays())
        return self._by_place

    def give(self, actions: Any) -> None:
        """Pass the address of the next step's actions, which must outlive it, to compiled code."""
        self._table[-1] = actions.ctypes.data

    def _describe(self) -> None:
        """Update the tables in place, because drivers hold them."""
        arrays = self.arrays()
        if self._table is not None:
            self._table[:-1] = self.layout.words(arrays)
        if self._by_place is not None:
            self._by_place.update(self.layout.by_place(arrays))

    @property
    def mode(self) -> int:
        """One of ``MODES``."""
        return int(self.parameters[-2])

    @mode.setter
    def mode(self, value: int) -> None:
        self.parameters[-2] = value

    def set_params(self, params: Any) -> None:
        """Set the params.

        Raises:
            KernelError: The type of a field does not match its annotation.
        """
        self._set_params(params)
        self._describe()

    def _set_params(self, params: Any) -> None:
        words = []
        for field, value in zip(self.kernel.param_fields, params, strict=True):
            if field.kind != "array":
                words.append(float(value))
                continue
            if not isinstance(value, np.ndarray):
                raise KernelError(
                    f"Kernel {self.kernel.name}: params.{field.name} is {type(value)}, but "
                    "annotated as np.ndarray."
                )
            before = self._param_arrays.get(field.name, value)
            if (value.dtype, value.ndim) != (before.dtype, before.ndim):
                raise KernelError(
                    f"Kernel {self.kernel.name}: params.{field.name} was of {before.dtype} with "
                    f"{before.ndim} axes and cannot become {value.dtype} with {value.ndim}."
                )
            self._param_arrays[field.name] = np.ascontiguousarray(value)
        self.params = params
        self.parameters[: self._scalars] = words

    def state_at(self, column: int) -> Any:
        """Return one environment's state."""
        floats = dict(zip(self._float_names, self.floats[:, column].tolist(), strict=False))
        ints = dict(zip(self._int_names, self.ints[:, column].tolist(), strict=False))
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
            StateError: The kernel's ``valid`` rejects it.
        """
        before = self.state_at(column)
        try:
            self._put(column, state)
            # Checks the stored values, which may differ: 0.5 for a bool is stored as False.
            self._check_valid(column)
        except Exception:  # also those of the kernel's ``valid``; raised again
            self._put(column, before)
            raise

    def _put(self, column: int, state: Any) -> None:
        for name, value in zip(self.kernel.state._fields, state, strict=True):  # type: ignore[attr-defined]
            kind = self._kinds[name]
            if kind == "array":
                self._arrays[name][column] = value
            elif kind == "float":
                self.floats[self._float_names.index(name), column] = value
            else:
                self.ints[self._int_names.index(name), column] = int(value)

    def _check_valid(self, column: int) -> None:
        valid = self.kernel.valid
        state = self.state_at(column)
        if valid is not None and not valid(self.params, state):
            raise StateError(
                f"Kernel {self.kernel.name}: environment {column} cannot be in the state {state}."
            )

    def copy_column(self, column: int, other: Storage, source: int) -> None:
        """Copy one environment's state, random words, reward, infos and observation."""
        for name in ("floats", "ints", "_results"):
            getattr(self, name)[:, column] = getattr(other, name)[:, source]
        self.rng_words[column] = other.rng_words[source]
        if self.rows:
            self.observations[:, column] = other.observations[:, source]
        else:
            self.observations[column] = other.observations[source]
        for name, array in self._arrays.items():
            array[column] = other._arrays[name][source]

    def columns(self) -> Mapping[str, Any]:
        """Return every field of the state as an array over environments.

        Numbers and arrays are views; bools are converted on each access.
        """
        rows = dict(zip(self._int_names, self.ints, strict=False))
        bools = {name: rows.pop(name) for name in self._int_names if self._kinds[name] == "bool"}
        floats = dict(zip(self._float_names, self.floats, strict=False))
        return _Columns(floats | rows | self._arrays, bools)

    def save(self) -> dict[str, Any]:
        """Return all arrays that change, as plain data."""
        saved = {name: rows.copy() for name, rows in self._saved_rows().items()}
        return saved | {"arrays": {name: array.copy() for name, array in self._arrays.items()}}

    def load(self, saved: dict[str, Any], started: Any, *, draws: bool = True) -> None:
        """Undo :meth:`save`.

        Args:
            saved: What :meth:`save` returned.
            started: For each environment whether it was reset; the numbers of others are zeros.
            draws: Whether random numbers come from :attr:`rng_words`.

        Raises:
            StateError: The kernel's ``valid`` rejects a state; nothing has changed then.
        """
        before = self.save()
        try:
            self._fill(saved)
            self._check_words(np.asarray(started, np.bool_) & draws)
            if self.kernel.valid is not None:
                for column in range(self.n):
                    if started[column] or not self._is_blank(column):
                        self._check_valid(column)
        except Exception:  # a damaged state may make ``valid`` raise anything; raised again
            self._fill(before)
            raise

    def _check_words(self, started: Any) -> None:
        """Check random words: PCG64 with an even increment may repeat one number for ever."""
        odd = self.rng_words[:, 3] & np.uint64(1) == np.uint64(1)
        wrong = np.flatnonzero(started & ~(odd & (self.rng_words[:, 4] < np.uint64(1 << 33))))
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
        rows = {"F": self.floats, "I": self.ints, "R": self._results}
        return rows | {"U": self.rng_words, "O": self._both, "B": self.flags}
