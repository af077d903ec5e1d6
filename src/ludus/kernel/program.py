"""A kernel made ready to run as plain Python; see ``compiled_program`` for native code."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from ludus.kernel.contract import COMPILED_ROLES, Kernel
from ludus.kernel.driver import driver_source
from ludus.kernel.generator import WordsRng
from ludus.kernel.layout import Layout
from ludus.kernel.native.jit import jit_enabled
from ludus.kernel.storage import Storage

if TYPE_CHECKING:
    from ludus.kernel.authoring.review import Review
    from ludus.kernel.compiled_program import CompiledProgram

__all__ = [
    "Parts",
    "Program",
    "StepShape",
    "compiled_program_for",
    "made_program",
    "program_drawing_from",
    "program_for",
]

StepShape = tuple[tuple[int, int] | None, tuple[str, int], bool]
"""What is read of an action, and how an observation is: see ``native/call/one.py``."""

_P = TypeVar("_P", bound="Program")
_programs: dict[tuple[Any, ...], Program] = {}
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

    They take numbers and arrays, and run as plain Python.

    Args:
        parts: What the program is made from.
        generator: What to draw from instead of the storage's random words, which are those of a
            PCG64.
    """

    jit = False
    """Whether the functions are compiled and take addresses in the place of arrays."""
    has_builtins = False
    """Whether whole steps can be builtin functions of CPython."""

    def __init__(self, parts: Parts, *, generator: np.random.Generator | None = None) -> None:
        kernel = self.kernel = parts.kernel
        self._generator = generator
        self._made_from = parts.action_kinds, parts.rows, parts.layout
        self._actions = "".join(kind[0] for kind in parts.action_kinds)
        if not kernel.is_bundled:
            self._review.validate(compiled=self.jit)
        text = driver_source(kernel, *self._made_from)
        self.tag = self._tag_of(text)
        self.text = text.replace("__TAG__", self.tag)
        self._policies: dict[Any, Any] = {}
        self._namespace: dict[str, Any] = {}

    def _tag_of(self, text: str) -> str:
        """Return what is added to the names of functions: only code on disk is told apart."""
        del text
        return "_plain"

    @cached_property
    def _review(self) -> Review:
        from ludus.kernel.authoring.review import Review

        _, rows, layout = self._made_from
        seen = next(place for place in layout if place.name == "both")
        return Review(self.kernel, rows, seen.code, self._actions)

    def table(self, storage: Storage) -> Any:
        """Return what the functions take as their table."""
        return storage.table(native=self.jit)

    def address(self, array: Any) -> Any:
        """Return what the functions take for an array that is not in the table."""
        return array

    def function(self, name: str, *, gil: bool = False) -> Callable[..., int]:
        """Return one of the functions.

        Args:
            name: One of ``FUNCTIONS``.
            gil: Whether calls keep Python's lock, which makes compiled ones quicker.
        """
        del gil
        return self._defined(name)  # type: ignore[no-any-return]

    def rollout_policy(self, policy: Any) -> Any:
        """Return the rollout loop with a policy built in.

        Raises:
            KernelError: The policy breaks a rule, at once or when the loop is first called.
        """
        if policy not in self._policies:
            inner = self._review.policy(policy, compiled=self.jit)
            self._policies[policy] = self._loop_with(policy, inner)
        return self._policies[policy]

    def _loop_with(self, policy: Any, inner: Any) -> Any:
        del policy
        return self._defined("rollout_policy", tagged=False)(inner)

    def _defined(self, name: str, *, tagged: bool = True) -> Any:
        """Return a function of the driver's text as Python has it."""
        if not self._namespace:
            self._namespace = self._driver_names()
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

    def _driver_names(self) -> dict[str, Any]:
        """Return what the driver's text finds under its global names."""

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


def _in_shape(array: Any, shape: tuple[int, ...], _dtype: Any) -> Any:
    """Do in plain Python what ``carray`` does with an address."""
    return array.reshape(shape)


def _row(array: Any, _code: str, first: int, _number: int, _count: int) -> Any:
    """Return an array's numbers from the first-th on."""
    return array.reshape(-1)[first:]


def program_for(storage: Storage, *, jit: bool | None = None) -> Program:
    """Return the program for a storage's kernel, made once per process and mode.

    Args:
        storage: The storage.
        jit: Whether it is compiled; by default what the environment variables say.
    """
    if jit_enabled() if jit is None else jit:
        return compiled_program_for(storage)
    return _made_once(storage, Program)


def compiled_program_for(storage: Storage) -> CompiledProgram:
    """Return the compiled program for a storage's kernel, made once per process."""
    # Imported here: most processes make a few plain steps and need nothing of the native side.
    from ludus.kernel.compiled_program import CompiledProgram

    return _made_once(storage, CompiledProgram)


def made_program(storage: Storage) -> CompiledProgram | None:
    """Return the compiled program for a storage's kernel if this process has made it."""
    return _programs.get(_key(storage, jit=True))  # type: ignore[return-value]


def _made_once(storage: Storage, kind: type[_P]) -> _P:
    key = _key(storage, jit=kind.jit)
    if key not in _programs:
        _programs[key] = kind(storage)
    return _programs[key]  # type: ignore[return-value]


def _key(storage: Storage, *, jit: bool) -> tuple[Any, ...]:
    return storage.kernel, jit, tuple(storage.action_kinds), storage.rows, storage.layout


def program_drawing_from(storage: Storage, generator: np.random.Generator) -> Program:
    """Return a plain-Python program that draws from any NumPy generator."""
    return Program(storage, generator=generator)
