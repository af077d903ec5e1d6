"""Compiles in a child process.

A compiler takes a hundred megabytes and seconds. So a child process compiles, writes the code to
disk and ends, while this process continues. It imports only Ludus: importing a user's module a
second time may have side effects, so kernels of other modules are compiled in this process.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from functools import cache
from typing import NamedTuple

from ludus.errors import KernelError
from ludus.kernel.layout import Layout
from ludus.kernel.native.jit import can_compile_apart

__all__ = ["REFUSED", "Compilation", "Order", "compile_apart"]

REFUSED = 3
"""Exit code of the child process if the kernel cannot be compiled; it writes the reason."""

# Sets the import path of this process before importing anything else.
_START = (
    "import sys; sys.path[:] = sys.argv[1:]; from ludus.kernel.compile_worker import main; main()"
)
_PATIENCE = 120.0

_running: set[Compilation] = set()


class Order(NamedTuple):
    """What the child process compiles.

    Attributes:
        module: The kernel's module.
        name: The kernel's name in it.
        tag: The program's tag, which the child must reproduce.
        action_kinds: ``action_kinds`` of the storage.
        rows: How many numbers an observation has.
        layout: The places of the arrays.
        functions: Cache files by function.
        shims: Cache files by LLVM IR.
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
    """A child process that executes an order.

    It ends with this process: it is stopped at exit, and checks itself whether its parent runs.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, order: Order) -> None:
        # Imported here, because most processes start no child.
        import subprocess
        import tempfile

        _register()
        paths = [path for path in sys.path if isinstance(path, str)]
        # A file, because writing to a pipe could block until the child reads.
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps({**order._asdict(), "parent": os.getpid()}).encode())
            file.seek(0)
            self._process = subprocess.Popen(  # noqa: S603 - this Python, with a program of ours
                [sys.executable, *_flags(), "-c", _START, *paths],
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Ctrl-C must not reach the child.
                start_new_session=True,
            )
        _running.add(self)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def done(self) -> bool | None:
        """Return whether the order was executed, ``None`` if the process still runs.

        Raises:
            KernelError: The kernel cannot be compiled.
        """
        return None if self._process.poll() is None else self.wait()

    def wait(self) -> bool:
        """Wait for the process; return whether the order was executed.

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
        """Kill the process."""
        _running.discard(self)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def disown(self) -> None:
        """Forget a process that the parent of this one started."""
        # Otherwise Popen would wait for it here, where it is not a child.
        self._process.returncode = 0


@cache
def _register() -> None:
    """Stop children at exit, and forget them in forks of this process."""
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
    """Execute an order in a child process and wait; return whether that was done.

    Raises:
        KernelError: The kernel cannot be compiled.
    """
    # A process that has imported numba can compile itself.
    if "numba" in sys.modules or not can_compile_apart():
        return False
    try:
        return Compilation(order).wait()
    except OSError:
        return False


def _flags() -> list[str]:
    """Return the interpreter options that affect the compiled byte code and the imports."""
    flags = sys.flags
    chosen = {
        "-I": flags.isolated,
        "-E": flags.ignore_environment,
        "-s": flags.no_user_site,
        "-S": flags.no_site,
        "-B": sys.dont_write_bytecode,
    }
    return [*(option for option, on in chosen.items() if on), *["-O"] * flags.optimize]
