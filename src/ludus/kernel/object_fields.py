"""Where things are in Python's and NumPy's objects, for code in LLVM's language."""

from __future__ import annotations

import sys
import sysconfig

__all__ = [
    "ALIGNED",
    "ARRAY",
    "CONTIGUOUS",
    "SCALAR",
    "TUPLE",
    "WRITABLE",
    "is_known",
    "load",
    "load_item",
]

TUPLE = tuple.__basicsize__
"""Where a tuple's items begin."""
SCALAR = 16
"""Where the number is in a NumPy scalar; part of NumPy's binary interface, as what follows."""
ARRAY = {
    "data": 16,
    "nd": 24,
    "dims": 32,
    "strides": 40,
    "descr": 56,
    "flags": 64,
    "weakrefs": 72,
}
"""Where an array's fields are."""
CONTIGUOUS, ALIGNED, WRITABLE = 0x1, 0x100, 0x400
"""Flags of an array."""


def is_known() -> bool:
    """Tell whether objects of this Python begin as they are expected to: count, then type."""
    return not (sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "getobjects"))


def load(name: str, base: str, offset: int, kind: str = "ptr") -> list[str]:
    """Return the lines that read a field of an object."""
    return [
        f"  %{name}.at = getelementptr i8, ptr {base}, i64 {offset}",
        f"  %{name} = load {kind}, ptr %{name}.at",
    ]


def load_item(name: str, index: int) -> list[str]:
    """Return the lines that read an item of the tuple ``owner``."""
    return load(name, "%owner", TUPLE + 8 * index)
