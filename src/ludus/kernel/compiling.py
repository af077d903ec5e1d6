"""Compiling in a process of its own.

A compiler takes a hundred megabytes, which this process would keep for good. So another one
compiles, leaves the code on disk and ends. It imports Ludus and nothing else: a module of somebody
else might do anything when it is imported a second time, so its kernels are compiled here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ludus.errors import KernelError
from ludus.kernel import loader
from ludus.kernel.contract import COMPILED_ROLES, Kernel
from ludus.kernel.layout import Layout

__all__ = ["REFUSED", "Order", "compile_apart", "known_name"]

REFUSED = 3
"""What the other process ends with if the kernel cannot be compiled; it writes why."""

# Before anything else is imported: from the places that this process imports from.
_START = (
    "import sys; sys.path[:] = sys.argv[1:]; from ludus.kernel.compiling_child import main; main()"
)
_PATIENCE = 120.0


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


def compile_apart(order: Order) -> bool:
    """Have an order compiled in another process; return whether that was done.

    Raises:
        KernelError: The kernel cannot be compiled.
    """
    if not _is_worth_it():
        return False
    paths = [path for path in sys.path if isinstance(path, str)]
    try:
        done = subprocess.run(  # noqa: S603 - this Python, with a program of ours
            [sys.executable, *_flags(), "-c", _START, *paths],
            input=json.dumps({**order._asdict(), "parent": os.getpid()}).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    if done.returncode == REFUSED:
        raise KernelError(done.stdout.decode())
    return done.returncode == 0


def known_name(kernel: Kernel) -> tuple[str, str] | None:
    """Return a module of Ludus and the name that a kernel has there, if it has one."""
    functions: list[Any] = [getattr(kernel, role) for role in COMPILED_ROLES]
    modules = {function.__module__ for function in functions if function is not None}
    for module in sorted(name for name in modules if name.startswith("ludus.")):
        for name, value in vars(sys.modules.get(module, object)).items():
            if value is kernel:
                return module, name
    return None


def _is_worth_it() -> bool:
    """Tell whether this process is free of compilers so far, and Python can be started again."""
    if "numba" in sys.modules or not loader.is_possible():
        return False
    # A program that Python is built into may be called anything.
    is_python = Path(sys.executable or "").name.startswith("python")
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
