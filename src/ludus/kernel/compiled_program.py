"""A kernel made ready to run as native code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn

from ludus.kernel.driver import FUNCTIONS
from ludus.kernel.native.abi import is_known
from ludus.kernel.native.background import Order, compile_apart
from ludus.kernel.native.builtin import shim_source
from ludus.kernel.native.cache import ObjectCode, cache_folder, keep, kept
from ludus.kernel.native.call.one import step_source
from ludus.kernel.native.call.shared import shared_source
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
from ludus.kernel.native.jit import check_plain, compiled, known_name
from ludus.kernel.native.processor import machine
from ludus.kernel.program import Parts, Program, StepShape

__all__ = ["CompiledProgram"]

# Who asks for the one will ask for the other, and much of the work is the same.
_TOGETHER = {"reset": ("reset", "step_one"), "step_one": ("reset", "step_one")}
_WITH_LOCK = ("reset", "step_one")
_OPTIONS = {
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class CompiledProgram(Program):
    """The functions of a kernel's driver as native code; they take numbers and addresses."""

    jit = True

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.compiles_here = False
        """Whether no other process compiles, because one has failed."""
        self.has_builtins = is_known()
        for part in self._parts().values():
            check_plain(part)
        self._functions: dict[tuple[str, bool], Callable[..., int]] = {}
        self._shared: Callable[..., int] | None = None
        self._addresses: dict[str, int] = {}
        self._steps: dict[StepShape, int] = {}
        self._batch_step: int | None = None
        self._step_shapes: set[StepShape] = set()

    def _tag_of(self, text: str) -> str:
        return f"_{digest(self.kernel, text)}"

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

    def address(self, array: Any) -> Any:
        """Return what the functions take for an array that is not in the table."""
        return array.ctypes.data

    def function(self, name: str, *, gil: bool = False) -> Callable[..., int]:
        """Return one of the functions.

        Args:
            name: One of ``FUNCTIONS``.
            gil: Whether calls keep Python's lock, which makes them quicker.
        """
        if (name, gil) not in self._functions:
            self._functions[name, gil] = self._native(name, gil=gil)
        return self._functions[name, gil]

    def shared(self) -> Callable[..., int]:
        """Return ``take`` and ``step`` as a function that several threads call together.

        Its arguments are those of :func:`~ludus.kernel.native.call.shared.shared_source`. Odd
        rounds take.
        """
        if self._shared is None:
            addresses = self._address_of("step"), self._address_of("take")
            self._shared = shared_function("shared", addresses)
        return self._shared

    def expect_steps(self, shape: StepShape) -> None:
        """Say that :meth:`whole_step` will be asked for, so that it is compiled with the rest."""
        self._step_shapes.add(shape)

    def whole_step(self, shape: StepShape, owner: tuple[Any, ...]) -> Callable[[Any], Any]:
        """Return the step of one environment as a builtin function of the action.

        The arguments are those of :func:`~ludus.kernel.native.call.one.step_source`.
        """
        if shape not in self._steps:
            self._steps[shape] = step_address(
                self._address_of("step_one"), self._step_source(*shape), problem=self._raiser
            )
        return builtin_function("step", self._steps[shape], owner=owner, one=True)

    def batch_step(self, owner: tuple[int, int, int, int]) -> Callable[[Any], int | None]:
        """Return the step of a batch as a builtin function of the array of actions.

        The owner is that of :func:`~ludus.kernel.native.call.batch.batch_source`.
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
        from ludus.kernel.native.call.batch import batch_source
        from ludus.kernel.native.call.finals import finals_source
        from ludus.kernel.native.call.normalise import LARGEST, normalising_source
        from ludus.kernel.native.call.seed import seeding_source
        from ludus.kernel.native.call.statistics import counting_source
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

    def _loop_with(self, policy: Any, inner: Any) -> Any:
        make = self._defined("rollout_policy", tagged=False)
        if isinstance(policy, FunctionType):
            inner = compiled(policy, self._memo, self.tag)
        return _checked_loop(make(inner), self._review.compiling_policy, policy, self._memo)

    def _driver_names(self) -> dict[str, Any]:
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


_Compiling = Callable[[Any, dict[Any, Any]], AbstractContextManager[Callable[[Any], None]]]
"""Context that translates errors of the compiler, and yields a check of the compiled code."""


def _checked_loop(
    dispatcher: Any, compiling: _Compiling, policy: Any, memo: dict[Any, Any]
) -> Callable[..., int]:
    """Return a loop that is compiled and checked before it first runs for given types.

    Args:
        dispatcher: Numba's dispatcher of the loop.
        compiling: Context for compiling; its arguments are the policy and ``memo``.
        policy: The user's function.
        memo: Dispatchers by plain function.

    Raises:
        KernelError: From the loop, if the policy cannot be compiled, or not run compiled.
    """
    from numba import typeof

    def run(*args: Any) -> int:
        kinds = tuple(map(typeof, args))
        if kinds not in dispatcher.overloads:
            with compiling(policy, memo) as check:
                dispatcher.compile(kinds)
                check(dispatcher.overloads[kinds])
        return dispatcher(*args)  # type: ignore[no-any-return]

    return run
