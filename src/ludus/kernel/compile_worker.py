"""The child process that compiles a kernel and ends."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ludus.errors import KernelError
from ludus.kernel.compiled_program import CompiledProgram
from ludus.kernel.contract import Kernel
from ludus.kernel.layout import Layout, Place
from ludus.kernel.native.background import REFUSED
from ludus.kernel.native.calls import keep_shim

__all__ = ["main"]

_DONE, _DIFFERENT = 0, 4
_LOOK = 0.5


class _Parts(NamedTuple):
    """The inputs of a program, without the arrays of a storage."""

    kernel: Kernel
    action_kinds: list[str]
    rows: int
    layout: Layout


def main() -> NoReturn:
    """Read an :class:`~ludus.kernel.native.background.Order`, execute it and exit."""
    # The process is short-lived, so garbage collection is not needed.
    gc.disable()
    # Numba imports SciPy for linear algebra, which Ludus's kernels do not use.
    sys.modules["scipy"] = None  # type: ignore[assignment]
    order = json.load(sys.stdin)
    _end_with(order["parent"])
    try:
        code = _carry_out(order)
    except KernelError as problem:
        sys.stdout.write(str(problem))
        sys.stdout.flush()
        code = REFUSED
    os._exit(code)


def _carry_out(order: dict[str, Any]) -> int:
    kernel = getattr(import_module(order["module"]), order["name"])
    layout = Layout(Place(*place) for place in order["layout"])
    parts = _Parts(kernel, order["action_kinds"], order["rows"], layout)
    program = CompiledProgram(parts)
    if program.tag != order["tag"]:
        return _DIFFERENT
    for name, path in order["functions"].items():
        program.build(name, Path(path))
    for source, path in order["shims"].items():
        keep_shim(source, Path(path))
    return _DONE


def _end_with(parent: int) -> None:
    """End this process when its parent has ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(_DIFFERENT)

    # Linux's parent death signal is sent when the thread that started this process ends, which is
    # too early. On Windows the parent's id never changes; there the process ends after compiling.
    threading.Thread(target=watch, daemon=True).start()
