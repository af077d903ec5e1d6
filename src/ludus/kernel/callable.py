"""Native functions as Python's own: called like a builtin, ten times as fast as through ctypes.

A few lines of LLVM's language take the arguments from Python, call the function and give its result
back.
"""

from __future__ import annotations

from ludus.kernel.cpython import READERS, pointer_to, python_data, python_function, read_arguments

__all__ = ["shim_source"]


def shim_source(kinds: str, native: int, *, gil: bool, problem: int) -> str:
    """Return ``shim``, which calls a function from Python, in LLVM's language.

    Args:
        kinds: ``i`` or ``f`` for each argument, a 64-bit number.
        native: Address of a function ``int32 (int64 *result, void **error, ...)`` that returns 0
            if all went well.
        gil: Whether the call keeps Python's lock.
        problem: Address of a text: what to raise ``IndexError`` with if it did not.
    """
    values = "".join(f", {READERS[kind][0]} %value{k}" for k, kind in enumerate(kinds))
    call = f"  %status = call i32 {pointer_to(native)}(ptr %result, ptr %error{values})"
    lines = [
        *read_arguments(kinds),
        *([call] if gil else _without_lock(call)),
        "  %good = icmp eq i32 %status, 0",
        "  br i1 %good, label %done, label %failed",
        "done:",
        "  %number = load i64, ptr %result",
        f"  %answer = call ptr {python_function('PyLong_FromLongLong')}(i64 %number)",
        "  ret ptr %answer",
        "failed:",
        f"  %kind = load ptr, ptr {python_data('PyExc_IndexError')}",
        f"  call void {python_function('PyErr_SetString')}(ptr %kind, ptr {pointer_to(problem)})",
        "  ret ptr null",
        "}",
    ]
    return "\n".join(lines)


def _without_lock(call: str) -> list[str]:
    return [
        f"  %thread = call ptr {python_function('PyEval_SaveThread')}()",
        call,
        f"  call void {python_function('PyEval_RestoreThread')}(ptr %thread)",
    ]
