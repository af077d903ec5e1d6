"""A kernel made ready to run: its driver, compiled or as plain Python."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from ludus.kernel.contract import COMPILED_ROLES, Kernel
from ludus.kernel.driver import FUNCTIONS, driver_source
from ludus.kernel.generator import WordsRng
from ludus.kernel.layout import Layout
from ludus.kernel.native.background import Order, compile_apart, known_name
from ludus.kernel.native.builtin import shim_source
from ludus.kernel.native.cache import ObjectCode, cache_folder, keep, kept
from ludus.kernel.native.call_one import step_source
from ludus.kernel.native.call_shared import shared_source
from ludus.kernel.native.calls import (
    batch_address,
    kept_address,
    native_address,
    native_function,
    numba_code,
    shared_function,
    shim_path,
    step_address,
)
from ludus.kernel.native.compile_notice import compile_notice
from ludus.kernel.native.cpython import builtin_function
from ludus.kernel.native.digest import digest
from ludus.kernel.native.jit import check_plain, compiled, jit_enabled
from ludus.kernel.native.policy_loop import checked_loop
from ludus.kernel.native.processor import machine
from ludus.kernel.storage import Storage

if TYPE_CHECKING:
    from ludus.kernel.authoring.review import Review

__all__ = [
    "Parts",
    "Program",
    "StepShape",
    "made_program",
    "program_drawing_from",
    "program_for",
]

_programs: dict[tuple[Any, ...], Program] = {}
StepShape = tuple[tuple[int, int] | None, tuple[str, int], bool]
"""What is read of an action, and how an observation is: see :func:`step_source`."""

# Who asks for the one will ask for the other, and much of the work is the same.
_TOGETHER = {"reset": ("reset", "step_one"), "step_one": ("reset", "step_one")}
_WITH_LOCK = ("reset", "step_one")
_CODES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")


class Parts(Protocol):
    """What a program is made from; a storage has it all."""

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        ...

    @property
    def action_kinds(self) -> list[str]:
        """``"int"`` or ``"float"`` for each number of an action."""
        ...

    @property
    def rows(self) -> int:
        """How many numbers an observation has; 0 if it is an array."""
        ...

    @property
    def layout(self) -> Layout:
        """Where the arrays are."""
        ...


class Program:
    """The functions of a kernel's driver: ``reset``, ``check``, ``step`` and the others.

    Compiled, each takes numbers and addresses of arrays, in plain Python numbers and arrays.
    """

    def __init__(
        self, parts: Parts, *, jit: bool, generator: np.random.Generator | None = None
    ) -> None:
        """Make the driver; plain Python may draw from a generator that is not a PCG64."""
        kernel = self.kernel = parts.kernel
        self.jit = jit
        self.compiles_here = False
        """Whether no other process compiles, because one has failed."""
        self._generator = generator
        self._made_from = parts.action_kinds, parts.rows, parts.layout
        self._actions = "".join(kind[0] for kind in parts.action_kinds)
        if not kernel.is_bundled:
            self._review.validate(compiled=jit)
        text = driver_source(kernel, *self._made_from)
        # Only code on disk has to be told apart.
        self.tag = f"_{digest(kernel, text)}" if jit else "_plain"
        self.text = text.replace("__TAG__", self.tag)
        if jit:
            for part in self._parts().values():
                check_plain(part)
        self._policies: dict[Any, Any] = {}
        self._functions: dict[tuple[str, bool], Callable[..., int]] = {}
        self._shared: Callable[..., int] | None = None
        self._addresses: dict[str, int] = {}
        self._steps: dict[StepShape, int] = {}
        self._batch_step: int | None = None
        self._step_shapes: set[StepShape] = set()
        self._namespace: dict[str, Any] = {}

    @cached_property
    def _review(self) -> Review:
        from ludus.kernel.authoring.review import Review

        _, rows, layout = self._made_from
        seen = next(place for place in layout if place.name == "both")
        return Review(self.kernel, rows, seen.code, self._actions)

    def compiled_error(self, address: int) -> Exception:
        """Return the exception that compiled code reported with a record at an address."""
        from ludus.kernel.authoring.run_errors import compiled_error

        return compiled_error(self.kernel.name, address)

    @cached_property
    def _raiser(self) -> Callable[[int], NoReturn]:
        """A function that native code calls with the address of a record, and that raises."""

        def fail(address: int) -> NoReturn:
            raise self.compiled_error(address)

        return fail

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

        Only for compiled programs. Its arguments are those of
        :func:`~ludus.kernel.native.builtin.shared_source`;
        odd rounds take.
        """
        if self._shared is None:
            addresses = self._address_of("step"), self._address_of("take")
            self._shared = shared_function("shared", addresses)
        return self._shared

    def expect_steps(self, shape: StepShape) -> None:
        """Say that :meth:`whole_step` will be asked for, so that it is compiled with the rest."""
        self._step_shapes.add(shape)

    def whole_step(self, shape: StepShape, owner: tuple[Any, ...]) -> Any:
        """Return the step of one environment as a builtin function of the action.

        Only for compiled programs. :func:`~ludus.kernel.native.call_one.step_source` tells what the
        arguments mean.
        """
        if shape not in self._steps:
            self._steps[shape] = step_address(
                self._address_of("step_one"), self._step_source(*shape), problem=self._raiser
            )
        return builtin_function("step", self._steps[shape], owner=owner, one=True)

    def batch_step(self, owner: tuple[int, int, int, int]) -> Any:
        """Return the step of a batch as a builtin function of the array of actions.

        Only for compiled programs.
        :func:`~ludus.kernel.native.call_batch.batch_source` tells what the
        owner is.
        """
        if self._batch_step is None:
            self._batch_step = batch_address(
                self._address_of("step"), *self._action_shape(), problem=self._raiser
            )
        return builtin_function("step", self._batch_step, owner=owner, one=True)

    def _action_shape(self) -> tuple[str, int]:
        """Return what an action's numbers are, and how many there are."""
        kinds = self._made_from[0]
        return kinds[0], len(kinds)

    def _batch_sources(self) -> list[str]:
        """Return what a batch needs beside the step."""
        # Imported here: single environments, and plain Python, start without these.
        from ludus.kernel.native.call_batch import batch_source
        from ludus.kernel.native.call_finals import finals_source
        from ludus.kernel.native.call_normalise import LARGEST, normalising_source
        from ludus.kernel.native.call_seed import seeding_source
        from ludus.kernel.native.call_statistics import counting_source
        from ludus.kernel.native.final_values import likely_form

        _, rows, layout = self._made_from
        return [
            batch_source(*self._action_shape()),
            seeding_source(),
            counting_source(),
            finals_source(likely_form(self.kernel, rows, layout)),
            *([normalising_source(rows)] if 1 <= rows <= LARGEST else []),
        ]

    def _step_source(
        self, bounds: tuple[int, int] | None, seen: tuple[str, int], whole: bool
    ) -> str:
        return step_source(bounds=bounds, size=len(self._actions), seen=seen, whole=whole)

    def _native(self, name: str, *, gil: bool) -> Callable[..., int]:
        return native_function(
            name, self._address_of(name), self._kinds(name), gil=gil, problem=self._raiser
        )

    def _kinds(self, name: str) -> str:
        return FUNCTIONS[name].replace("*", self._actions)

    def _address_of(self, name: str) -> int:
        if name not in self._addresses:
            self._addresses[name] = self._found(name)
        return self._addresses[name]

    def _found(self, name: str) -> int:
        def build() -> ObjectCode:
            with compile_notice(self.kernel.name, name):
                return self._built_apart(name) or self.build(name, self._path(name))

        return native_address(self._path(name), build)

    def _path(self, name: str) -> Path:
        title = "".join(c if c.isalnum() else "_" for c in self.kernel.name.lower())
        return cache_folder() / f"{title}{self.tag}-{name}-{machine()}.o"

    def load_kept(self, names: Iterable[str]) -> bool:
        """Load functions that are on disk; return whether all were there. Compiles nothing."""
        for name in names:
            if name not in self._addresses:
                address = kept_address(self._path(name))
                if address is None:
                    return False
                self._addresses[name] = address
        return True

    def is_loaded(self, names: Iterable[str]) -> bool:
        """Tell whether functions can be called without loading or compiling them."""
        return all(name in self._addresses for name in names)

    def is_kept(self, names: Iterable[str]) -> bool:
        """Tell whether there are files of functions, which may turn out to be damaged."""
        return all(self._path(name).exists() for name in names)

    def order(self, names: Iterable[str]) -> Order | None:
        """Return what another process needs to compile functions, ``None`` if it must not."""
        known = known_name(self.kernel)
        if known is None:
            return None
        together = {other for name in names for other in _TOGETHER.get(name, (name,))}
        functions = {other: str(self._path(other)) for other in sorted(together)}
        sources = [shim_source(self._kinds(other), gil=other in _WITH_LOCK) for other in functions]
        if "step_one" in together:
            sources += [self._step_source(*shape) for shape in self._step_shapes]
        if "step" in together:
            sources += self._batch_sources()
        if "take" in together:
            sources.append(shared_source())
        shims = {source: str(shim_path(source)) for source in sources}
        kinds, rows, layout = self._made_from
        return Order(*known, self.tag, kinds, rows, layout, functions, shims)

    def _built_apart(self, name: str) -> ObjectCode | None:
        """Return a function's code after another process has compiled it, ``None`` if none did."""
        order = None if self.compiles_here else self.order((name,))
        if order is None or not compile_apart(order):
            return None
        return kept(self._path(name))

    def build(self, name: str, path: Path) -> ObjectCode:
        """Compile a function in this process, keep its code and return it.

        Args:
            name: One of ``FUNCTIONS``.
            path: Where to keep it.

        Raises:
            KernelError: It cannot be compiled.
        """
        from numba import njit, types

        signature = types.int64(
            *({"i": types.int64, "f": types.float64}[kind] for kind in self._kinds(name))
        )
        function = self._defined(name)
        with self._review.compiling(self._memo) as check:
            made = njit(signature, **_OPTIONS)(function)
            check(*made.overloads.values())
            return keep(path, numba_code(made))

    def rollout_policy(self, policy: Any) -> Any:
        """Return the rollout loop with a policy built in.

        Raises:
            KernelError: The policy breaks a rule, at once or when the loop is first called.
        """
        if policy not in self._policies:
            inner = self._review.policy(policy, compiled=self.jit)
            make = self._defined("rollout_policy", tagged=False)
            if self.jit and isinstance(policy, FunctionType):
                inner = compiled(policy, self._memo, self.tag)
            loop = make(inner)
            if self.jit:
                loop = checked_loop(loop, self._review.compiling_policy, policy, self._memo)
            self._policies[policy] = loop
        return self._policies[policy]

    def _defined(self, name: str, *, tagged: bool = True) -> Any:
        """Return a function of the driver's text as Python has it."""
        if not self._namespace:
            self._namespace = self._compiled_parts() if self.jit else self._plain_parts()
        name = f"{name}{self.tag}" if tagged else name
        if name not in self._namespace:
            place = f"<driver of {self.kernel.name}>"
            linecache.cache[place] = (len(self.text), None, self.text.splitlines(True), place)
            exec(compile(self._text_of(name), place, "exec"), self._namespace)  # noqa: S102 - made above
        return self._namespace[name]

    def _text_of(self, name: str) -> str:
        """Return the text of one function, in the lines that it has in the whole text.

        To compile all of them to bytecode takes longer than everything else before a first step.
        """
        begin = self.text.index(f"def {name}(")
        if self.text[:begin].endswith("@_main\n"):
            begin -= len("@_main\n")
        end = re.compile(r"^(?:@|def )", re.MULTILINE).search(
            self.text, self.text.index("(", begin)
        )
        lines = self.text.count("\n", 0, begin)
        return "\n" * lines + self.text[begin : end.start() if end else None]

    def _roles(self) -> dict[str, str]:
        """Return which of the kernel's functions the driver calls by which name."""
        roles = {f"_{role}": role for role in COMPILED_ROLES if getattr(self.kernel, role)}
        return {"_first_observation": "observation", **roles}

    def _parts(self) -> dict[str, Any]:
        return {name: getattr(self.kernel, role) for name, role in self._roles().items()}

    def _common_parts(self) -> dict[str, Any]:
        types = {f"_{code}": np.dtype(code).type for code in _CODES}
        return {**types, "_Params": self.kernel.params, "_State": self.kernel.state}

    def _plain_parts(self) -> dict[str, Any]:
        def unchanged(value: Any) -> Any:
            return value

        parts = self._parts()
        if not self.kernel.is_bundled:
            parts = {name: self._review.plain(role) for name, role in self._roles().items()}
        return {
            **parts,
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

        from ludus.kernel.native.numba_intrinsics import pointer, use_widest_vectors, word
        from ludus.kernel.native.numba_random import REPLACEMENTS
        from ludus.kernel.native.numba_rows import any_of_8, random_words, row

        self._memo: dict[Any, Any] = dict(REPLACEMENTS)
        options = {
            "check_indices": self.kernel.checks_indices,
            "inline": not self.kernel.array_fields,
        }
        parts = {
            name: compiled(part, self._memo, self.tag, **options)
            for name, part in self._parts().items()
        }

        return {
            **parts,
            **self._common_parts(),
            "_rng": random_words,
            "_row": row,
            "_any_of_8": any_of_8,
            "_jit": njit(error_model="numpy", nogil=True, no_cfunc_wrapper=True),
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


def program_for(storage: Storage, *, jit: bool | None = None) -> Program:
    """Return the program for a storage's kernel, made once per process and mode.

    Args:
        storage: The storage.
        jit: Whether it is compiled; by default what the environment variables say.
    """
    jit = jit_enabled() if jit is None else jit
    program = made_program(storage, jit=jit)
    if program is None:
        program = _programs[_key(storage, jit)] = Program(storage, jit=jit)
    return program


def made_program(storage: Storage, *, jit: bool = True) -> Program | None:
    """Return the program for a storage's kernel if this process has made it."""
    return _programs.get(_key(storage, jit))


def _key(storage: Storage, jit: bool) -> tuple[Any, ...]:
    return storage.kernel, jit, tuple(storage.action_kinds), storage.rows, storage.layout


def program_drawing_from(storage: Storage, generator: np.random.Generator) -> Program:
    """Return a plain-Python program that draws from any NumPy generator."""
    return Program(storage, jit=False, generator=generator)
