"""Many simulations of one model, stepped by the engine's own threads.

The engine's batch (``mjb_*``, new in version 4) steps N simulations in one call, in C threads,
outside the interpreter's lock. It keeps the solver's warm start with each simulation, which
``mujoco.rollout`` does not return, so its numbers equal those of single simulations bit for bit.
Its Python class lacks one call that contact forces need, ``mjb_apply``; hence ctypes.
"""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ludus.distribution import pip_install
from ludus.envs.mujoco.engine import import_mujoco
from ludus.envs.mujoco.native_step import Order, step_address
from ludus.errors import DependencyNotInstalled, Error

__all__ = ["Batch", "Rows"]

Rows = np.ndarray[Any, np.dtype[Any]]
"""Numbers of simulations: an array of ints."""

_WHERE, _COUNT, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
# Function: what it returns, what it takes.
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mjb_makeBatch": (_WHERE, (_WHERE, _COUNT, _WHERE, _TEXT, _COUNT)),
    "mjb_deleteBatch": (None, (_WHERE,)),
    "mjb_nstate": (_COUNT, (_WHERE,)),
    "mjb_state": (_WHERE, (_WHERE,)),
    "mjb_warning": (_WHERE, (_WHERE,)),
    "mjb_stateComponent": (_WHERE, (_WHERE, _COUNT, _WHERE)),
    "mjb_output": (_WHERE, (_WHERE, _TEXT, _WHERE, _WHERE)),
    "mjb_step": (_COUNT, (_WHERE, _WHERE, _COUNT, _COUNT, _COUNT)),
    "mjb_reset": (_COUNT, (_WHERE, _WHERE, _COUNT, _WHERE, _COUNT)),
    "mjb_forward": (_COUNT, (_WHERE, _WHERE, _COUNT, _COUNT)),
    "mjb_apply": (_COUNT, (_WHERE, _WHERE, _COUNT, _WHERE, _WHERE, _COUNT)),
    "mjb_status": (ctypes.POINTER(ctypes.c_int), (_WHERE,)),
    "mjb_error": (_TEXT, (_WHERE, _COUNT)),
    "mj_step": (None, (_WHERE, _WHERE)),
    "mj_rnePostConstraint": (None, (_WHERE, _WHERE)),
}
_STATE = {"qpos": "mjSTATE_QPOS", "qvel": "mjSTATE_QVEL", "ctrl": "mjSTATE_CTRL"}
_NOTHING, _EVERYTHING = 0, 3  # mjSTAGE_NONE and mjSTAGE_ACC
_SAVE = 1
# To compute what follows from a state takes about a microsecond for each degree of freedom, to wake
# the engine's threads up to a hundred. So few are done one by one, which wakes no thread.
_FEW_DEGREES = 64


class _Config(ctypes.Structure):
    _fields_ = (("nthread", ctypes.c_int), ("persistent", ctypes.c_bool))


@functools.cache
def _library() -> SimpleNamespace:
    """Return the engine's functions.

    Raises:
        DependencyNotInstalled: The engine is older than version 4.
    """
    mujoco = import_mujoco()
    folder = Path(mujoco.__file__).parent
    (path, *_) = [*folder.glob("libmujoco.*"), *folder.glob("mujoco.dll")]
    library, found = ctypes.CDLL(str(path)), {}
    for name, (result, arguments) in _SIGNATURES.items():
        try:
            function = getattr(library, name)
        except AttributeError as problem:
            raise DependencyNotInstalled(
                f"Batches need mujoco 4, and this is {mujoco.__version__}; run "
                f"`{pip_install('mujoco')}`, or use vectorization_mode='sync'."
            ) from problem
        function.restype, function.argtypes = result, arguments
        found[name.removeprefix("mjb_")] = function
    return SimpleNamespace(**found)


class Batch:
    """``count`` simulations of a copy of ``model``.

    Args:
        model: The compiled model.
        count: How many simulations.
        threads: How many threads work in a call, the caller's included.
        forces: Compute contact forces after each step, as single robots do.

    Raises:
        DependencyNotInstalled: The engine is older than version 4.
        Error: The engine cannot make such a batch, or is set to call back into Python.
    """

    def __init__(self, model: Any, count: int, threads: int, *, forces: bool = False) -> None:
        self._library = library = _library()
        self._mujoco = import_mujoco()
        self._refuse_callbacks()
        self._count = count
        self._sample = self._mujoco.MjData(model)
        config = _Config(threads, False)
        problem = ctypes.create_string_buffer(500)
        address = ctypes.byref(config)
        self._batch = library.makeBatch(model._address, count, address, problem, len(problem))
        if not self._batch:
            raise Error(f"MuJoCo cannot simulate {count} models: {problem.value.decode()}")
        self.maker = os.getpid()
        self._free = weakref.finalize(self, _delete, library, self._batch, self.maker)
        size = (count, library.nstate(self._batch))
        self.state = _array(library.state(self._batch), size)
        self._first = self.state[0].copy()
        warnings = ctypes.cast(library.warning(self._batch), ctypes.POINTER(ctypes.c_int))
        kinds = int(self._mujoco.mjtWarning.mjNWARNING)
        self._warnings = np.ctypeslib.as_array(warnings, (count, 2 * kinds))
        self._ids = np.zeros(count, np.int32)
        self._ids_at: int = self._ids.ctypes.data
        self._few = 1 if threads == 1 else _FEW_DEGREES // max(1, model.nv)
        self._fields: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
        self._order: Order | None = None
        self._with_forces = 0
        if forces:
            functions = (library.mj_step, library.mj_rnePostConstraint)
            self._with_forces = step_address(
                *(ctypes.cast(f, _WHERE).value or 0 for f in functions)
            )

    def _refuse_callbacks(self) -> None:
        # The engine's threads would call Python without holding its lock.
        for name in dir(self._mujoco):
            if name.startswith("get_mjcb_") and getattr(self._mujoco, name)() is not None:
                raise Error(
                    f"A batch cannot call back into Python, but {name.removeprefix('get_')} is "
                    "set. Unset it, or use vectorization_mode='sync'."
                )

    def field(self, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return a live array of a field of the engine's data, simulations first.

        Of the state, it can be written; anything else is what the last call computed.
        """
        shape = getattr(self._sample, name).shape
        if name not in _STATE:
            found = self._library.output(self._batch, name.encode(), None, None)
            self._fields[name] = _array(found, (self._count, *shape))
            self._order = None
            return self._fields[name]
        part = getattr(self._mujoco.mjtState, _STATE[name]).value
        found = self._library.stateComponent(self._batch, part, None)
        start = (found - self.state.ctypes.data) // self.state.itemsize
        return self.state[:, start : start + shape[0]]

    def step(self, rows: Rows | None, times: int) -> None:
        """Advance simulations; ``None`` means all.

        Raises:
            Error: The engine failed in some; the others have been stepped.
        """
        at, count = (None, 0) if rows is None else self._chosen(rows)
        library, batch = self._library, self._batch
        if not self._with_forces:
            failed = library.step(batch, at, count, times, _NOTHING)
        else:
            if self._order is None:
                self._order = Order(self._sample, self._fields)
            self._order.set_times(times)
            failed = library.apply(batch, at, count, self._with_forces, self._order.address, _SAVE)
        if failed:
            raise self._failure()

    def reset(self, rows: Rows) -> None:
        """Give simulations the model's first state, and compute nothing yet."""
        # What mjb_reset would write, without waking its threads.
        self.state[rows] = self._first
        self._warnings[rows] = 0

    def forward(self, rows: Rows) -> None:
        """Compute everything that follows from the states.

        Raises:
            Error: The engine failed in some.
        """
        at, count = self._chosen(rows)
        forward, batch = self._library.forward, self._batch
        if count <= self._few:
            size = self._ids.itemsize
            failed = sum([forward(batch, at + size * i, 1, _EVERYTHING) for i in range(count)])
        else:
            failed = forward(batch, at, count, _EVERYTHING)
        if failed:
            raise self._failure()
        if self._with_forces:
            # There are none before a step; what was copied here is another simulation's.
            self._fields["cfrc_ext"][rows] = 0.0

    def close(self) -> None:
        """End the threads and free the memory; arrays of fields must not be used any more."""
        self.state, self._warnings = np.empty((0, 0)), np.empty((0, 0), np.int32)
        self._free()

    def _chosen(self, rows: Rows) -> tuple[int, int]:
        """Return where the engine finds the numbers of the rows, and how many there are."""
        count = len(rows)
        self._ids[:count] = rows
        return self._ids_at, count

    def _failure(self) -> Error:
        status = self._library.status(self._batch)
        number = next((i for i in range(self._count) if status[i]), 0)
        text = self._library.error(self._batch, number).decode()
        return Error(f"MuJoCo failed in environment {number}: {text}")


def _delete(library: SimpleNamespace, batch: int, maker: int) -> None:
    # Elsewhere the threads that it would wait for do not exist.
    if os.getpid() == maker:
        library.deleteBatch(batch)


def _array(address: int, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    if 0 in shape:
        return np.zeros(shape)
    numbers = ctypes.cast(address, ctypes.POINTER(ctypes.c_double))
    return np.ctypeslib.as_array(numbers, shape)
