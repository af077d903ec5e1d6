"""Native functions as Python's own: called like a builtin, ten times as fast as through ctypes.

A few lines of LLVM's language take the arguments from Python, call the function and give its result
back. Addresses are written into them as numbers, so that there is nothing to link.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["builtin_function", "shim_source"]

_FASTCALL = 0x80
_READ = {"i": ("i64", "PyLong_AsLongLong"), "f": ("double", "PyFloat_AsDouble")}


class _MethodDef(ctypes.Structure):
    """How CPython describes a builtin function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# CPython keeps pointers to the descriptions.
_described: list[_MethodDef] = []


def builtin_function(name: str, address: int) -> Any:
    """Return the function at an address, of the form CPython calls ``METH_FASTCALL``."""
    described = _MethodDef(name.encode(), address, _FASTCALL, None)
    _described.append(described)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return create(ctypes.addressof(described), None, None)


def shim_source(kinds: str, native: int, *, gil: bool, problem: int) -> str:
    """Return ``shim``, which calls a function from Python, in LLVM's language.

    Args:
        kinds: ``i`` or ``f`` for each argument, a 64-bit number.
        native: Address of a function ``int32 (int64 *result, void **error, ...)`` that returns 0
            if all went well.
        gil: Whether the call keeps Python's lock.
        problem: Address of a text: what to raise ``IndexError`` with if it did not.
    """
    lines = [
        "define ptr @shim(ptr %self, ptr %given, i64 %count) {",
        f"  %enough = icmp eq i64 %count, {len(kinds)}",
        "  br i1 %enough, label %read, label %miscounted",
        "miscounted:",
        f"  call void {_python('PyErr_BadArgument')}()",
        "  ret ptr null",
        "read:",
        "  %result = alloca i64",
        "  %error = alloca ptr",
    ]
    for k, kind in enumerate(kinds):
        made, reader = _READ[kind]
        lines += [
            f"  %at{k} = getelementptr ptr, ptr %given, i64 {k}",
            f"  %object{k} = load ptr, ptr %at{k}",
            f"  %value{k} = call {made} {_python(reader)}(ptr %object{k})",
        ]
    values = "".join(f", {_READ[kind][0]} %value{k}" for k, kind in enumerate(kinds))
    call = f"  %status = call i32 {_at(native)}(ptr %result, ptr %error{values})"
    lines += [
        f"  %unreadable = call ptr {_python('PyErr_Occurred')}()",
        "  %readable = icmp eq ptr %unreadable, null",
        "  br i1 %readable, label %run, label %refused",
        "refused:",
        "  ret ptr null",
        "run:",
        *([call] if gil else _without_lock(call)),
        "  %good = icmp eq i32 %status, 0",
        "  br i1 %good, label %done, label %failed",
        "done:",
        "  %number = load i64, ptr %result",
        f"  %answer = call ptr {_python('PyLong_FromLongLong')}(i64 %number)",
        "  ret ptr %answer",
        "failed:",
        f"  %kind = load ptr, ptr {_data('PyExc_IndexError')}",
        f"  call void {_python('PyErr_SetString')}(ptr %kind, ptr {_at(problem)})",
        "  ret ptr null",
        "}",
    ]
    return "\n".join(lines)


def _without_lock(call: str) -> list[str]:
    return [
        f"  %thread = call ptr {_python('PyEval_SaveThread')}()",
        call,
        f"  call void {_python('PyEval_RestoreThread')}(ptr %thread)",
    ]


def _at(address: int) -> str:
    return f"inttoptr (i64 {address} to ptr)"


def _python(name: str) -> str:
    function = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    return _at(function or 0)


def _data(name: str) -> str:
    return _at(ctypes.addressof(ctypes.c_void_p.in_dll(ctypes.pythonapi, name)))
