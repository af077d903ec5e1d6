"""Native functions as Python's own: called like a builtin, ten times as fast as through ctypes.

A few lines of LLVM's language take the arguments from Python, call the function and give its result
back.
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
"""The lines after a call of ``ludus.native``: go on if its ``%status`` is 0.

Otherwise ``ludus.problem``, a function of Python, raises; it gets the address of numba's record of
the exception, which ``%error`` points to.
"""
GIVE_COUNT = (
    "  %number = load i64, ptr %result",
    "  %answer = call ptr @PyLong_FromLongLong(i64 %number)",
    "  ret ptr %answer",
)
"""The lines that return its ``%result`` to Python."""


def shim_source(kinds: str, *, gil: bool) -> str:
    """Return ``shim``, which calls a function from Python, in LLVM's language.

    It expects ``ludus.native``, a function ``int32 (int64 *result, void **error, ...)`` that
    returns 0 if all went well, and ``ludus.problem``, the function that raises if it did not.

    Args:
        kinds: ``i`` or ``f`` for each argument, a 64-bit number.
        gil: Whether the call keeps Python's lock.
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
    """Return the lines of a call during which other threads of Python run."""
    return [
        "  %thread = call ptr @PyEval_SaveThread()",
        call,
        "  call void @PyEval_RestoreThread(ptr %thread)",
    ]
