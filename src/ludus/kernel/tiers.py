"""Which execution of a kernel runs now: plain Python at first, compiled code once it is there.

Plain Python and compiled code work on the same storage and give the same bits, so an environment
may change from one to the other between two steps. Ludus's own kernels start in plain Python. A
child process compiles what the cache lacks, and the environment changes over when that is done, so
nobody waits for a compiler. Kernels of other modules are compiled in the calling process, which
waits, because a child process would have to import their modules.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ludus.kernel.native.jit import CompileMode, can_compile_apart, compile_mode, known_name
from ludus.kernel.program import (
    Program,
    StepShape,
    compiled_program_for,
    made_program,
    program_for,
)
from ludus.kernel.storage import Storage

if TYPE_CHECKING:
    from ludus.kernel.compiled_program import CompiledProgram
    from ludus.kernel.native.background import Compilation

__all__ = ["Tier"]

_COMPILE_AFTER = 0.01
"""Seconds in plain steps after which a missing function is compiled: a process that makes a few
steps starts no compiler."""
_LOAD_AFTER = 0.05
"""Seconds in plain steps after which compiled code is loaded: importing LLVM takes as long."""
_LOAD_AFTER_FIRST = 0.005
"""The same in a process that has imported LLVM, where loading takes a few milliseconds."""
_LOOK_EVERY = 0.005
"""Seconds in plain steps between two looks at the child process."""
_LOAD_AT_ONCE = 256
"""Environments above which a batch begins with compiled code if there is some. A plain step takes
20 (CartPole) to 300 (Freeway) microseconds for each, so 5 to 80 milliseconds for so many."""
_WAIT = 4096
"""Environments above which a batch waits for the compiler. Plain steps of so many take 0.1 to 1.2
seconds; the compiler takes 2 to 5."""

_lock = threading.Lock()
# What this process has under way, by program and functions; with the number of the process, as a
# fork inherits the table but not the children.
_under_way: dict[tuple[CompiledProgram, tuple[str, ...]], tuple[int, Compilation]] = {}


class Tier:
    """The execution that one environment or batch runs now.

    Args:
        storage: What it works on.
        names: The functions of the program that it calls.
        mode: How to compile; by default what ``LUDUS_COMPILE`` says. ``never`` there counts always.
        shape: The shape of whole steps, if the environment makes them.
    """

    def __init__(
        self,
        storage: Storage,
        names: tuple[str, ...],
        *,
        mode: CompileMode | None = None,
        shape: StepShape | None = None,
    ) -> None:
        self._storage, self._names, self._shape = storage, names, shape
        said = compile_mode()
        mode = said if mode is None or said == "never" else mode
        self._spent = 0.0
        self._look = _COMPILE_AFTER if storage.n <= _LOAD_AT_ONCE else 0.0
        self.program = self._first(mode)
        """The program to run now."""
        self.is_final = self.program.jit or mode == "never"
        """Whether no other program comes."""

    def _first(self, mode: CompileMode) -> Program:
        storage, names = self._storage, self._names
        if mode == "never":
            return program_for(storage, jit=False)
        if mode == "wait" or known_name(storage.kernel) is None or not can_compile_apart():
            return self._compiled()
        made = made_program(storage)
        if made is not None and made.is_loaded(names):
            return self._compiled()
        if storage.n > _WAIT or (storage.n > _LOAD_AT_ONCE and self._compiled().is_kept(names)):
            return self._compiled()
        return program_for(storage, jit=False)

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of a plain program that adds its time to what was spent."""

        def run(*arguments: Any) -> Any:
            start = perf_counter()
            try:
                return function(*arguments)
            finally:
                self._spent += perf_counter() - start

        return run

    def better(self) -> CompiledProgram | None:
        """Return the compiled program if it can take over now; start to compile if it is time.

        Raises:
            KernelError: The kernel cannot be compiled.
        """
        if self._spent < self._look or self.is_final:
            return None
        self._look = self._spent + _LOOK_EVERY
        # Another thread looks already, maybe for the same program: then this one looks later.
        if not _lock.acquire(blocking=False):
            return None
        try:
            return self._taken(self._compiled()) if self._is_ready() else None
        finally:
            _lock.release()

    def wait(self) -> CompiledProgram:
        """Return the compiled program; what is missing is compiled while the caller waits.

        Raises:
            KernelError: The kernel cannot be compiled.
        """
        program = self._compiled()
        compilation = self._pop()
        if compilation is not None and not compilation.wait():
            program.compiles_here = True
        return self._taken(program)

    def _is_ready(self) -> bool:
        program, names = self._compiled(), self._names
        if program.is_loaded(names):
            return True
        owner, compilation = _under_way.get((program, names), (0, None))
        if compilation is not None and owner == os.getpid():
            return self._is_compiled(program, compilation)
        if program.is_kept(names):
            enough = _LOAD_AFTER_FIRST if "llvmlite" in sys.modules else _LOAD_AFTER
            if self._spent < enough:
                self._look = enough
                return False
            if program.load_kept(names):
                return True
        return not self._begin(program)

    def _begin(self, program: CompiledProgram) -> bool:
        """Start to compile; return whether that was possible. Otherwise this process compiles."""
        from ludus.kernel.native.background import Compilation

        order = program.order(self._names)
        try:
            if order is not None:
                _under_way[program, self._names] = os.getpid(), Compilation(order)
                return True
        except OSError as problem:
            _note(f"No process to compile {program.kernel.name} in: {problem}")
        program.compiles_here = True
        return False

    def _is_compiled(self, program: CompiledProgram, compilation: Compilation) -> bool:
        done = self._done(compilation)
        if done is None:
            return False
        if not (done and program.load_kept(self._names)):
            # It ended, was killed, or could not write to the disk. This process can do it.
            _note(f"The process that compiled {program.kernel.name} failed.")
            program.compiles_here = True
        return True

    def _done(self, compilation: Compilation) -> bool | None:
        try:
            done = compilation.done()
        except BaseException:
            self._pop()
            raise
        if done is not None:
            self._pop()
        return done

    def _pop(self) -> Compilation | None:
        owner, compilation = _under_way.pop((self._compiled(), self._names), (0, None))
        return compilation if owner == os.getpid() else None

    def _compiled(self) -> CompiledProgram:
        program = compiled_program_for(self._storage)
        if self._shape is not None:
            program.expect_steps(self._shape)
        return program

    def _taken(self, program: CompiledProgram) -> CompiledProgram:
        self.program, self.is_final = program, True
        return program


def _note(text: str) -> None:
    # Most processes have nothing to note, and need not import this.
    import logging

    logging.getLogger("ludus.kernel").info(text)
