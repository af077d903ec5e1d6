"""A kernel made ready to run: its driver, compiled or as plain Python."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ludus.kernel.compile_notice import compile_notice
from ludus.kernel.cpython import builtin_function
from ludus.kernel.diagnosis import explained
from ludus.kernel.digest import digest
from ludus.kernel.jit import check_plain, compiled, jit_enabled
from ludus.kernel.kept_code import cache_folder
from ludus.kernel.lean_compiler import lean_compiler
from ludus.kernel.native import native_address, native_function, shared_function, step_address
from ludus.kernel.processor import machine
from ludus.kernel.source import FUNCTIONS, driver_source
from ludus.kernel.storage import Storage
from ludus.kernel.words_rng import WordsRng

__all__ = ["Program", "program_drawing_from", "program_for"]

_programs: dict[tuple[Any, ...], Program] = {}
_CODES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


class Program:
    """The functions of a kernel's driver: ``reset``, ``check``, ``step`` and the others.

    Compiled, each takes numbers and addresses of arrays, in plain Python numbers and arrays.
    """

    def __init__(
        self, storage: Storage, *, jit: bool, generator: np.random.Generator | None = None
    ) -> None:
        """Make the driver; plain Python may draw from a generator that is not a PCG64."""
        kernel = self.kernel = storage.kernel
        self.jit = jit
        self._generator = generator
        self._actions = "".join(kind[0] for kind in storage.action_kinds)
        text = driver_source(kernel, storage.action_kinds, storage.rows, storage.layout)
        self._tag = f"_{digest(kernel, text)}"
        self.text = text.replace("__TAG__", self._tag)
        if jit:
            for part in self._parts().values():
                check_plain(part)
        self._policies: dict[Any, Any] = {}
        self._functions: dict[tuple[str, bool], Callable[..., int]] = {}
        self._shared: Callable[..., int] | None = None
        self._addresses: dict[str, int] = {}
        self._steps: dict[tuple[Any, ...], int] = {}
        self._namespace: dict[str, Any] = {}

    def table(self, storage: Storage) -> Any:
        """Return what the functions take as their table."""
        return storage.table(native=self.jit)

    def address(self, array: Any) -> Any:
        """Return what the functions take for an array that is not in the table."""
        return array.ctypes.data if self.jit else array

    def function(self, name: str, *, gil: bool = False) -> Callable[..., int]:
        """Return one of the functions.

        Args:
            name: One of ``FUNCTIONS``.
            gil: Whether calls keep Python's lock, which makes them quicker.
        """
        if not self.jit:
            return self._defined(name)  # type: ignore[no-any-return]
        if (name, gil) not in self._functions:
            self._functions[name, gil] = self._native(name, gil=gil)
        return self._functions[name, gil]

    def shared(self) -> Callable[..., int]:
        """Return ``take`` and ``step`` as a function that several threads call together.

        Only for compiled programs. :func:`~ludus.kernel.callable.shared_source` has its arguments;
        odd rounds take.
        """
        if self._shared is None:
            addresses = self._address_of("step"), self._address_of("take")
            self._shared = shared_function("shared", addresses)
        return self._shared

    def whole_step(
        self, bounds: tuple[int, int] | None, seen: tuple[str, int], owner: tuple[Any, ...]
    ) -> Any:
        """Return the step of one environment as a builtin function of the action.

        Only for compiled programs. :func:`~ludus.kernel.step_call.step_source` tells what the
        arguments mean.
        """
        key = bounds, seen
        if key not in self._steps:
            self._steps[key] = step_address(
                self._address_of("step_one"),
                bounds=bounds,
                size=len(self._actions),
                seen=seen,
                problem=self.index_problem,
            )
        return builtin_function("step", self._steps[key], owner=owner, one=True)

    def _native(self, name: str, *, gil: bool) -> Callable[..., int]:
        kinds = FUNCTIONS[name].replace("*", self._actions)
        return native_function(
            name, self._address_of(name), kinds, gil=gil, problem=self.index_problem
        )

    @property
    def index_problem(self) -> str:
        """What to say when compiled code met an index outside an array."""
        return (
            f"Kernel {self.kernel.name} used an index outside an array, because of a state that "
            "was set from outside or a mistake of its own. LUDUS_JIT=0 runs it as plain Python, "
            "which names the line."
        )

    def _address_of(self, name: str) -> int:
        if name not in self._addresses:
            self._addresses[name] = self._found(name)
        return self._addresses[name]

    def _found(self, name: str) -> int:
        title = "".join(c if c.isalnum() else "_" for c in self.kernel.name.lower())
        path = cache_folder() / f"{title}{self._tag}-{name}-{machine()}.o"
        kinds = FUNCTIONS[name].replace("*", self._actions)

        def build() -> Any:
            from numba import njit, types

            signature = types.int64(*({"i": types.int64, "f": types.float64}[k] for k in kinds))
            function = self._defined(name)
            with (
                compile_notice(self.kernel.name, name),
                explained(self.kernel),
                lean_compiler(lambda other: self._tag in other and other != function.__name__),
            ):
                return njit(signature, **_OPTIONS)(function)

        return native_address(path, build)

    def rollout_policy(self, policy: Any) -> Any:
        """Return the rollout loop with a policy built in."""
        if policy not in self._policies:
            make = self._defined("rollout_policy", tagged=False)
            inner = policy
            if self.jit and isinstance(policy, FunctionType):
                inner = compiled(policy, self._memo, self._tag)
            self._policies[policy] = make(inner)
        return self._policies[policy]

    def _defined(self, name: str, *, tagged: bool = True) -> Any:
        """Return a function of the driver's text as Python has it."""
        if not self._namespace:
            self._namespace = self._compiled_parts() if self.jit else self._plain_parts()
            place = f"<driver of {self.kernel.name}>"
            linecache.cache[place] = (len(self.text), None, self.text.splitlines(True), place)
            exec(compile(self.text, place, "exec"), self._namespace)  # noqa: S102 - made above
        return self._namespace[f"{name}{self._tag}" if tagged else name]

    def _parts(self) -> dict[str, Any]:
        kernel = self.kernel
        parts = {
            "_initial": kernel.initial,
            "_transition": kernel.transition,
            "_observation": kernel.observation,
            "_first_observation": kernel.first_observation or kernel.observation,
            "_reward": kernel.reward,
            "_terminal": kernel.terminal,
        }
        if kernel.info is not None:
            parts["_info"] = kernel.info
        return parts

    def _common_parts(self) -> dict[str, Any]:
        types = {f"_{code}": np.dtype(code).type for code in _CODES}
        return {**types, "_Params": self.kernel.params, "_State": self.kernel.state}

    def _plain_parts(self) -> dict[str, Any]:
        def unchanged(value: Any) -> Any:
            return value

        return {
            **self._parts(),
            **self._common_parts(),
            "_rng": self._plain_rng,
            "_jit": unchanged,
            "_main": unchanged,
            "_row": _row,
            "_any_of_8": lambda flags, first: flags[first : first + 8].any(),
            "_carray": _in_shape,
            "_pointer": unchanged,
            "_word": lambda table, place: table[place],
            "_use_widest_vectors": lambda: None,
        }

    def _plain_rng(self, words: Any, index: int, _number: int, _count: int) -> Any:
        return WordsRng(words, index) if self._generator is None else self._generator

    def _compiled_parts(self) -> dict[str, Any]:
        from numba import carray, njit

        from ludus.kernel.compiled_random import REPLACEMENTS
        from ludus.kernel.intrinsics import pointer, use_widest_vectors, word
        from ludus.kernel.rows import any_of_8, random_words, row

        self._memo: dict[Any, Any] = dict(REPLACEMENTS)
        options = {
            "check_indices": self.kernel.checks_indices,
            "inline": not self.kernel.array_fields,
        }
        parts = {
            name: compiled(part, self._memo, self._tag, **options)
            for name, part in self._parts().items()
        }

        return {
            **parts,
            **self._common_parts(),
            "_rng": random_words,
            "_row": row,
            "_any_of_8": any_of_8,
            "_jit": njit(error_model="numpy", nogil=True),
            "_main": lambda function: function,
            "_carray": carray,
            "_pointer": pointer,
            "_word": word,
            "_use_widest_vectors": use_widest_vectors,
        }


def _in_shape(array: Any, shape: tuple[int, ...], _dtype: Any) -> Any:
    """Do in plain Python what ``carray`` does with an address."""
    return array.reshape(shape)


def _row(array: Any, _code: str, first: int, _number: int, _count: int) -> Any:
    """Return an array's numbers from the first-th on."""
    return array.reshape(-1)[first:]


_OPTIONS = {
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def program_for(storage: Storage) -> Program:
    """Return the program for a storage's kernel, made once per process and mode."""
    jit = jit_enabled()
    key = (storage.kernel, jit, tuple(storage.action_kinds), storage.rows, storage.layout)
    if key not in _programs:
        _programs[key] = Program(storage, jit=jit)
    return _programs[key]


def program_drawing_from(storage: Storage, generator: np.random.Generator) -> Program:
    """Return a plain-Python program that draws from any NumPy generator."""
    return Program(storage, jit=False, generator=generator)
