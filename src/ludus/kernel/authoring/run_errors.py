"""Converts errors of compiled code to the exceptions that the kernel's source would raise.

Compiled code returns the address of a record of the exception: a pickle of its class, arguments and
place, which numba has put into the code.
"""

from __future__ import annotations

import ctypes
import io
import linecache
import pickle
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["compiled_error", "raiser"]


class _Record(ctypes.Structure):
    """Numba's record of an exception; the last three fields are for dynamic ones."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_int32),
        ("arguments", ctypes.c_void_p),
        ("unwrap", ctypes.c_void_p),
        ("dynamic", ctypes.c_int32),
    )


class _ExceptionReader(pickle.Unpickler):
    """Unpickles exceptions only."""

    def find_class(self, module: str, name: str) -> Any:
        found = getattr(sys.modules.get(module), name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is not a known exception")


def compiled_error(kernel: str, address: int) -> Exception:
    """Return the exception that compiled code reported.

    Args:
        kernel: The kernel's name.
        address: Of numba's record, 0 if there is none.
    """
    plain = "LUDUS_JIT=0 runs it as plain Python, under a debugger if you like."
    kind, arguments, place = _read(address)
    where = ""
    if place is not None and not _is_internal(place[1]):
        name, file, line = place
        text = linecache.getline(file, line).strip()
        where = f"\n  {file}, line {line}, in {name}:" + (f"\n    {text}" if text else "")
    if kind is IndexError:
        return IndexError(
            f"Kernel {kernel} used an index outside an array, because of a state that was set from "
            f"outside or a mistake of its own.{where}\n{plain}"
        )
    if kind is None:
        return RuntimeError(f"Kernel {kernel} failed for an unknown reason. {plain}")
    try:
        problem: Exception = kind(*arguments)
    except Exception:  # the constructor of a user's exception may raise anything
        problem = RuntimeError(f"{kind.__name__}{arguments}")
    problem.add_note(f"Raised by compiled code of kernel {kernel}.{where}\n{plain}")
    return problem


def raiser(kernel: str) -> Callable[[int], Any]:
    """Return a function that raises the exception that a kernel's compiled code reported."""

    def fail(address: int) -> Any:
        raise compiled_error(kernel, address)

    return fail


def _read(address: int) -> tuple[Any, tuple[Any, ...], tuple[str, str, int] | None]:
    if not address:
        return None, (), None
    record = _Record.from_address(address)
    try:
        text = io.BytesIO(ctypes.string_at(record.data, record.size))
        kind, arguments, place = _ExceptionReader(text).load()
    except Exception:  # unpickling may raise anything; the error itself is still reported
        return None, (), None
    return kind, tuple(arguments or ()), place


def _is_internal(file: str) -> bool:
    return "/numba/" in file.replace("\\", "/") or file.startswith("<driver of ")
