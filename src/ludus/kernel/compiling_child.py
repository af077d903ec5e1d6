"""The process that compiles, and ends."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ludus.errors import KernelError
from ludus.kernel.compiling import REFUSED
from ludus.kernel.contract import Kernel
from ludus.kernel.layout import Layout, Place
from ludus.kernel.native import keep_shim
from ludus.kernel.program import Program

__all__ = ["main"]

_DONE, _DIFFERENT = 0, 4
_END_WITH_PARENT = 1


class _Parts(NamedTuple):
    """What a program is made from, without the arrays of a storage."""

    kernel: Kernel
    action_kinds: list[str]
    rows: int
    layout: Layout


def main() -> NoReturn:
    """Read an :class:`~ludus.kernel.compiling.Order`, see to it, and end the process."""
    # There is nothing to clean up that the end of the process would not.
    gc.disable()
    # Numba would import it for linear algebra, which no kernel of Ludus does.
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
    program = Program(parts, jit=True)
    if program.tag != order["tag"]:
        return _DIFFERENT
    for name, path in order["functions"].items():
        program.build(name, Path(path), alone=True)
    for source, path in order["shims"].items():
        keep_shim(source, Path(path))
    return _DONE


def _end_with(parent: int) -> None:
    """Let the system end this process when its parent ends, however that happens."""
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(_DIFFERENT)
