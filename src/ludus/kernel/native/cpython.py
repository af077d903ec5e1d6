"""CPython's own functions, as code in LLVM's language calls them.

The code names them, and whoever loads it puts their addresses there. So the code is the same in
every process.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable
from typing import Any

from ludus.kernel.native.abi import ARRAY, FASTCALL, ONE_ARGUMENT, TUPLE, MethodDef

__all__ = [
    "NO_ERROR",
    "READERS",
    "SHIM",
    "builtin_function",
    "load",
    "load_item",
    "read_arguments",
    "symbol_address",
    "with_declarations",
]

SHIM = "shim"
"""The name of the function that a text in LLVM's language is about."""

READERS = {"i": ("i64", "PyLong_AsLongLong"), "f": ("double", "PyFloat_AsDouble")}
"""How a number of each kind is read from an object: its type, and the function that reads it."""

NO_ERROR = ("  %error = alloca ptr", "  store ptr null, ptr %error")
"""The lines that make room for the record of an exception, of which there is none yet."""

# CPython keeps pointers to the descriptions.
_described: dict[tuple[int, bool], MethodDef] = {}


def builtin_function(
    name: str, address: int, *, owner: Any = None, one: bool = False
) -> Callable[..., Any]:
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
        _described[key] = MethodDef(name.encode(), address, ONE_ARGUMENT if one else FASTCALL, None)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    self = None if owner is None else id(owner)
    made: Callable[..., Any] = create(ctypes.addressof(_described[key]), self, None)
    return made


def load(name: str, base: str, offset: int, kind: str = "ptr") -> list[str]:
    """Return the lines that read a field of an object."""
    return [
        f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}",
        f"  %{name} = load {kind}, ptr %{name}.at",
    ]


def load_item(name: str, index: int) -> list[str]:
    """Return the lines that read an item of the tuple ``owner``."""
    return load(name, "%owner", TUPLE + 8 * index)


def read_arguments(kinds: str) -> list[str]:
    """Return a function's beginning: its arguments read as ``%value0 ...``, ready to ``run``.

    ``kinds`` has ``i`` or ``f`` for each number, ``o`` for an object as it is, and ``a`` for a
    NumPy array, whose value is the address of its data; the caller answers for its being one.
    """
    lines = [
        "define ptr @shim(ptr %self, ptr %given, i64 %argument_count) {",
        f"  %enough = icmp eq i64 %argument_count, {len(kinds)}",
        "  br i1 %enough, label %read, label %miscounted",
        "miscounted:",
        "  call void @PyErr_BadArgument()",
        "  ret ptr null",
        "read:",
        "  %result = alloca i64",
        *NO_ERROR,
    ]
    for k, kind in enumerate(kinds):
        lines += [
            f"  %at{k} = getelementptr ptr, ptr %given, i64 {k}",
            f"  %object{k} = load ptr, ptr %at{k}",
        ]
        if kind == "o":
            lines.append(f"  %value{k} = select i1 true, ptr %object{k}, ptr null")
            continue
        if kind == "a":
            lines += load(f"value{k}", f"%object{k}", ARRAY["data"])
            continue
        made, reader = READERS[kind]
        lines.append(f"  %value{k} = call {made} @{reader}(ptr %object{k})")
    return [
        *lines,
        "  %unreadable = call ptr @PyErr_Occurred()",
        "  %readable = icmp eq ptr %unreadable, null",
        "  br i1 %readable, label %run, label %refused",
        "refused:",
        "  ret ptr null",
        "run:",
    ]


def with_declarations(lines: list[str]) -> str:
    """Return a function as a whole text: with declarations of everything that it names."""
    text = "\n".join(lines)
    named = set(re.findall(r"@([A-Za-z_][\w.]*)", text)) - {SHIM}
    # Functions are declared as variables as well: all that counts is where they are.
    declared = [f"@{name} = external global ptr" for name in named if not name.startswith("llvm.")]
    return "\n".join([*sorted(declared), text, ""])


def symbol_address(name: str) -> int:
    """Return where a function or a variable of CPython or of the C library is.

    Raises:
        LookupError: There is none of that name.
    """
    # Windows has no handle for the whole process; pythonapi covers CPython there.
    everything = () if sys.platform == "win32" else (ctypes.CDLL(None),)
    for library in (ctypes.pythonapi, *everything):
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(library, name))
        except ValueError:
            continue
    raise LookupError(f"There is nothing called {name} in this process.")
