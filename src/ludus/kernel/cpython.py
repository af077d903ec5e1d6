"""CPython's own functions, as code in LLVM's language calls them.

Addresses are written into the code as numbers, so that there is nothing to link.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = [
    "READERS",
    "builtin_function",
    "libc_function",
    "pointer_to",
    "python_data",
    "python_function",
    "read_arguments",
]

READERS = {"i": ("i64", "PyLong_AsLongLong"), "f": ("double", "PyFloat_AsDouble")}
"""How a number of each kind is read from an object: its type, and the function that reads it."""

_FASTCALL, _ONE = 0x80, 0x08


class _MethodDef(ctypes.Structure):
    """How CPython describes a builtin function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# CPython keeps pointers to the descriptions.
_described: dict[tuple[int, bool], _MethodDef] = {}


def builtin_function(name: str, address: int, *, owner: Any = None, one: bool = False) -> Any:
    """Return the function at an address as a builtin function.

    Args:
        name: Its name.
        address: Where it is.
        owner: The object that it gets as its first argument; ``None`` passes a null pointer.
        one: Whether it takes one argument (``METH_O``) instead of an array of them and their number
            (``METH_FASTCALL``).
    """
    key = (address, one)
    if key not in _described:
        _described[key] = _MethodDef(name.encode(), address, _ONE if one else _FASTCALL, None)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    self = None if owner is None else id(owner)
    return create(ctypes.addressof(_described[key]), self, None)


def read_arguments(kinds: str) -> list[str]:
    """Return a function's beginning: its arguments read as ``%value0 ...``, ready to ``run``."""
    lines = [
        "define ptr @shim(ptr %self, ptr %given, i64 %argument_count) {",
        f"  %enough = icmp eq i64 %argument_count, {len(kinds)}",
        "  br i1 %enough, label %read, label %miscounted",
        "miscounted:",
        f"  call void {python_function('PyErr_BadArgument')}()",
        "  ret ptr null",
        "read:",
        "  %result = alloca i64",
        "  %error = alloca ptr",
    ]
    for k, kind in enumerate(kinds):
        made, reader = READERS[kind]
        lines += [
            f"  %at{k} = getelementptr ptr, ptr %given, i64 {k}",
            f"  %object{k} = load ptr, ptr %at{k}",
            f"  %value{k} = call {made} {python_function(reader)}(ptr %object{k})",
        ]
    return [
        *lines,
        f"  %unreadable = call ptr {python_function('PyErr_Occurred')}()",
        "  %readable = icmp eq ptr %unreadable, null",
        "  br i1 %readable, label %run, label %refused",
        "refused:",
        "  ret ptr null",
        "run:",
    ]


def pointer_to(address: int) -> str:
    """Return an address as a pointer."""
    return f"inttoptr (i64 {address} to ptr)"


def python_function(name: str) -> str:
    """Return one of CPython's functions."""
    function = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    return pointer_to(function or 0)


def libc_function(name: str) -> str:
    """Return one of the C library's functions."""
    function = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    return pointer_to(function or 0)


def python_data(name: str) -> str:
    """Return the place of one of CPython's variables."""
    return pointer_to(ctypes.addressof(ctypes.c_void_p.in_dll(ctypes.pythonapi, name)))
