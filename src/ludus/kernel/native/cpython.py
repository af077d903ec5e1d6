"""Building blocks of LLVM IR that calls CPython's functions.

The IR refers to them by name, and their addresses are resolved when it is loaded, so the IR is the
same in every process.
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
    "read",
    "read_arguments",
    "symbol_address",
    "with_declarations",
    "write",
]

SHIM = "shim"
"""The name of the function that LLVM IR defines."""

READERS = {"i": ("i64", "PyLong_AsLongLong"), "f": ("double", "PyFloat_AsDouble")}
"""LLVM type of each kind of number, and the CPython function that reads it from an object."""

NO_ERROR = ("  %error = alloca ptr", "  store ptr null, ptr %error")
"""The lines that allocate the pointer to an exception's record, initially null."""

# Kept alive, because CPython has pointers to them.
_described: dict[tuple[int, bool], MethodDef] = {}


def builtin_function(
    name: str, address: int, *, owner: Any = None, one: bool = False
) -> Callable[..., Any]:
    """Return the function at an address as a builtin function.

    Args:
        name: Its name.
        address: Its address.
        owner: The object passed as first argument; ``None`` passes a null pointer.
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


def read(name: str, kind: str, base: str, index: str, *, align: int = 0) -> list[str]:
    """Return the lines that read an element of an array."""
    aligned = f", align {align}" if align else ""
    return [
        f"  %{name}.at = getelementptr {kind}, ptr {base}, i64 {index}",
        f"  %{name} = load {kind}, ptr %{name}.at{aligned}",
    ]


def write(place: str, kind: str, base: str, index: str, value: str, *, align: int = 0) -> list[str]:
    """Return the lines that write an element of an array, whose address is ``%{place}``."""
    aligned = f", align {align}" if align else ""
    return [
        f"  %{place} = getelementptr {kind}, ptr {base}, i64 {index}",
        f"  store {kind} {value}, ptr %{place}{aligned}",
    ]


def load_item(name: str, index: int) -> list[str]:
    """Return the lines that read an item of the tuple ``owner``."""
    return load(name, "%owner", TUPLE + 8 * index)


def read_arguments(kinds: str) -> list[str]:
    """Return the first lines of a function, which read its arguments as ``%value0 ...``.

    They end with the label ``run``. ``kinds`` has ``i`` or ``f`` for each number, ``o`` for an
    object, and ``a`` for a NumPy array, whose value is the address of its data; that it is an array
    is not checked.
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
    """Return a function as a module, with declarations of all symbols that it uses."""
    text = "\n".join(lines)
    named = set(re.findall(r"@([A-Za-z_][\w.]*)", text)) - {SHIM}
    # Functions are declared as variables too, because only their addresses matter.
    declared = [f"@{name} = external global ptr" for name in named if not name.startswith("llvm.")]
    return "\n".join([*sorted(declared), text, ""])


def symbol_address(name: str) -> int:
    """Return the address of a function or variable of CPython or of the C library.

    Raises:
        LookupError: There is no such symbol.
    """
    # Windows has no handle for the whole process; pythonapi covers CPython there.
    everything = () if sys.platform == "win32" else (ctypes.CDLL(None),)
    for library in (ctypes.pythonapi, *everything):
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(library, name))
        except ValueError:
            continue
    raise LookupError(f"There is nothing called {name} in this process.")
