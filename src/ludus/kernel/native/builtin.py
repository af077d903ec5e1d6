"""LLVM IR of builtin functions that call native code, ten times as fast as through ctypes.

It reads the arguments from Python, calls the function and returns its result to Python.
"""

from __future__ import annotations

from ludus.kernel.native.cpython import READERS, read_arguments, with_declarations

__all__ = ["GIVE_COUNT", "OR_RAISE", "shim_source", "without_lock"]

OR_RAISE = (
    "  %good = icmp eq i32 %status, 0",
    "  br i1 %good, label %done, label %failed",
    "failed:",
    "  %record = load ptr, ptr %error",
    "  %record_at = ptrtoint ptr %record to i64",
    "  %record_object = call ptr @PyLong_FromLongLong(i64 %record_at)",
    "  %raised = call ptr @PyObject_CallOneArg(ptr @ludus.problem, ptr %record_object)",
    "  call void @Py_DecRef(ptr %record_object)",
    "  ret ptr %raised",
    "done:",
)
"""The lines after a call of ``ludus.native``, which continue if its ``%status`` is 0.

Otherwise the Python function ``ludus.problem`` raises; its argument is the address of numba's
record of the exception, from ``%error``.
"""
GIVE_COUNT = (
    "  %number = load i64, ptr %result",
    "  %answer = call ptr @PyLong_FromLongLong(i64 %number)",
    "  ret ptr %answer",
)
"""The lines that return its ``%result`` to Python."""


def shim_source(kinds: str, *, gil: bool) -> str:
    """Return the LLVM IR of ``shim``, which calls a native function from Python.

    It needs the symbols ``ludus.native``, a function ``int32 (int64 *result, void **error, ...)``
    that returns 0 on success, and ``ludus.problem``, the function that raises otherwise.

    Args:
        kinds: ``i`` or ``f`` for each argument, a 64-bit number.
        gil: Whether the call holds the GIL.
    """
    values = "".join(f", {READERS[kind][0]} %value{k}" for k, kind in enumerate(kinds))
    call = f"  %status = call i32 @ludus.native(ptr %result, ptr %error{values})"
    lines = [
        *read_arguments(kinds),
        *([call] if gil else without_lock(call)),
        *OR_RAISE,
        *GIVE_COUNT,
        "}",
    ]
    return with_declarations(lines)


def without_lock(call: str) -> list[str]:
    """Return the lines of a call without the GIL."""
    return [
        "  %thread = call ptr @PyEval_SaveThread()",
        call,
        "  call void @PyEval_RestoreThread(ptr %thread)",
    ]
