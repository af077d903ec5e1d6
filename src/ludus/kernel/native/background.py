"""Compiling in a process of its own.

A compiler takes a hundred megabytes and seconds. So a child process compiles, leaves the code on
disk and ends, while this process goes on. It imports Ludus and nothing else: a module of somebody
else might do anything when it is imported a second time, so its kernels are compiled here.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from functools import cache
from typing import Any, NamedTuple

from ludus.errors import KernelError
from ludus.kernel.contract import COMPILED_ROLES, Kernel
from ludus.kernel.layout import Layout

__all__ = ["REFUSED", "Compilation", "Order", "can_compile_apart", "compile_apart", "known_name"]

REFUSED = 3
"""What the other process ends with if the kernel cannot be compiled; it writes why."""

# Before anything else is imported: from the places that this process imports from.
_START = (
    "import sys; sys.path[:] = sys.argv[1:]; from ludus.kernel.compile_worker import main; main()"
)
_PATIENCE = 120.0

_running: set[Compilation] = set()


class Order(NamedTuple):
    """What is to be compiled.

    Attributes:
        module: Where the kernel is.
        name: What it is called there.
        tag: The program's tag, which must come out again.
        action_kinds: Of the storage, as its ``rows`` and ``layout``.
        rows: How many numbers an observation has.
        layout: Where the arrays are.
        functions: Where the code of each function is to be kept.
        shims: Where the code of texts in LLVM's language is to be kept, by text.
    """

    module: str
    name: str
    tag: str
    action_kinds: list[str]
    rows: int
    layout: Layout
    functions: dict[str, str]
    shims: dict[str, str]


class Compilation:
    """A child process that carries out an order.

    It ends with this process: at exit it is stopped, and it looks itself whether its parent lives.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, order: Order) -> None:
        # Processes that start no child, which are most, need not import these.
        import subprocess
        import tempfile

        _register()
        paths = [path for path in sys.path if isinstance(path, str)]
        # A file and not a pipe, which might be too small for the order: nobody waits for the child.
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps({**order._asdict(), "parent": os.getpid()}).encode())
            file.seek(0)
            self._process = subprocess.Popen(  # noqa: S603 - this Python, with a program of ours
                [sys.executable, *_flags(), "-c", _START, *paths],
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Ctrl-C is meant for this process.
                start_new_session=True,
            )
        _running.add(self)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def done(self) -> bool | None:
        """Return whether the order was carried out, ``None`` if the process still runs.

        Raises:
            KernelError: The kernel cannot be compiled.
        """
        return None if self._process.poll() is None else self.wait()

    def wait(self) -> bool:
        """Wait for the end; return whether the order was carried out.

        Raises:
            KernelError: The kernel cannot be compiled.
        """
        from subprocess import TimeoutExpired

        try:
            told, _ = self._process.communicate(timeout=_PATIENCE)
        except TimeoutExpired:
            return False
        finally:
            self.stop()
        if self._process.returncode == REFUSED:
            raise KernelError(told.decode())
        return self._process.returncode == 0

    def stop(self) -> None:
        """End the process."""
        _running.discard(self)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def disown(self) -> None:
        """Let go of a process that another process has started."""
        # Otherwise it would be waited for here, where it is nobody's child.
        self._process.returncode = 0


@cache
def _register() -> None:
    """Have children end with this process, and forks of it leave them alone."""
    atexit.register(_stop_all)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_disown_all)


def _stop_all() -> None:
    for compilation in list(_running):
        compilation.stop()


def _disown_all() -> None:
    for compilation in _running:
        compilation.disown()
    _running.clear()


def compile_apart(order: Order) -> bool:
    """Have an order compiled in another process and wait; return whether that was done.

    Raises:
        KernelError: The kernel cannot be compiled.
    """
    # A process that has a compiler already gains nothing from waiting for another.
    if "numba" in sys.modules or not can_compile_apart():
        return False
    try:
        return Compilation(order).wait()
    except OSError:
        return False


def known_name(kernel: Kernel) -> tuple[str, str] | None:
    """Return a module of Ludus and the name that a kernel has there, if it has one."""
    functions: list[Any] = [getattr(kernel, role) for role in COMPILED_ROLES]
    modules = {function.__module__ for function in functions if function is not None}
    for module in sorted(name for name in modules if name.startswith("ludus.")):
        for name, value in vars(sys.modules.get(module, object)).items():
            if value is kernel:
                return module, name
    return None


def can_compile_apart() -> bool:
    """Tell whether Python can be started again from here."""
    # A program that Python is built into may be called anything.
    is_python = os.path.basename(sys.executable or "").startswith("python")  # noqa: PTH119
    return is_python and not getattr(sys, "frozen", False)


def _flags() -> list[str]:
    """Return the options that decide what Python makes of the same source and surroundings."""
    flags = sys.flags
    chosen = {
        "-I": flags.isolated,
        "-E": flags.ignore_environment,
        "-s": flags.no_user_site,
        "-S": flags.no_site,
        "-B": sys.dont_write_bytecode,
    }
    return [*(option for option, on in chosen.items() if on), *["-O"] * flags.optimize]
