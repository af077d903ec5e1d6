"""Assumptions of native code about CPython's and NumPy's structures, and checks of them.

LLVM IR reads fields of objects directly, because calling the public functions for each would cost
more than a step. Every offset, flag and table index that it relies on is here, with its source.
:func:`is_known` compares them with the running interpreter once; if one differs, compiled code is
called through ctypes, which needs none of them.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
import weakref
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

__all__ = [
    "ALIGNED",
    "ARRAY",
    "CONTIGUOUS",
    "COUNT",
    "FASTCALL",
    "NEW_FROM_DESCR",
    "ONE_ARGUMENT",
    "SCALAR",
    "TUPLE",
    "WRITABLE",
    "MethodDef",
    "is_known",
    "numpy_function",
]

# --- CPython ----------------------------------------------------------------------------------

TYPE = 8
"""Offset of an object's type. Include/object.h, ``PyObject``: the reference count, then the type,
except in builds without the GIL and in those that trace references."""
COUNT = "i32" if sys.version_info >= (3, 12) else "i64"
"""The LLVM type of a reference count. Include/object.h: since Python 3.12 its lower half is
negative for immortal objects (PEP 683)."""
TUPLE = tuple.__basicsize__
"""Offset of a tuple's items. Include/cpython/tupleobject.h, ``PyTupleObject.ob_item``."""
FASTCALL, ONE_ARGUMENT = 0x80, 0x08
"""How a builtin function takes its arguments. Include/methodobject.h, ``METH_FASTCALL`` and
``METH_O``; part of the stable interface since Python 3.10."""
_METHOD = 16
"""Offset of a builtin function's method definition. Include/cpython/methodobject.h,
``PyCFunctionObject.m_ml``."""


class MethodDef(ctypes.Structure):
    """CPython's definition of a builtin function. Include/methodobject.h, ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# --- NumPy ------------------------------------------------------------------------------------

SCALAR = 16
"""Offset of the number in a scalar. numpy/arrayscalars.h, ``PyLongScalarObject.obval``."""
ARRAY = {
    "data": 16,
    "nd": 24,
    "dims": 32,
    "strides": 40,
    "descr": 56,
    "flags": 64,
    "weakrefs": 72,
}
"""Offsets of an array's fields. numpy/ndarraytypes.h, ``PyArrayObject_fields``."""
CONTIGUOUS, ALIGNED, WRITABLE = 0x1, 0x100, 0x400
"""Flags of an array. numpy/ndarraytypes.h, ``NPY_ARRAY_C_CONTIGUOUS`` and the others."""
NEW_FROM_DESCR = 94
"""Index of ``PyArray_NewFromDescr`` in the function table. numpy/__multiarray_api.h; indices do not
change within the versions below."""
_VERSION_AT = 0
_VERSIONS = (0x01000009, 0x02000000)
"""ABI versions of NumPy 1 and 2. numpy/numpyconfig.h, ``NPY_ABI_VERSION``, which the first function
of the table returns."""


def numpy_function(index: int) -> int:
    """Return the address of a function of NumPy's C API."""
    name = "numpy._core._multiarray_umath"
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        name = "numpy.core._multiarray_umath"
    capsule = import_module(name)._ARRAY_API
    unpack = ctypes.pythonapi.PyCapsule_GetPointer
    unpack.restype, unpack.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(unpack(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return int(table[index])


# --- the check --------------------------------------------------------------------------------


@cache
def is_known() -> bool:
    """Return whether this interpreter meets the assumptions; warn once if it does not."""
    for name, holds in _CHECKS.items():
        if not holds():
            warnings.warn(
                f"Python {sys.version.split()[0]} with NumPy {np.__version__} has another {name} "
                "than Ludus knows. Kernels run compiled, but calls go through ctypes and are "
                "slower. Please report it.",
                RuntimeWarning,
                stacklevel=2,
            )
            return False
    return True


def _is_common_build() -> bool:
    import sysconfig

    usual = not (sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "getobjects"))
    return usual and ctypes.sizeof(ctypes.c_void_p) == 8


def _pointer(base: int) -> int | None:
    return ctypes.c_void_p.from_address(base).value


def _has_header() -> bool:
    sample = object()
    return object.__basicsize__ == 16 and _pointer(id(sample) + TYPE) == id(object)


def _has_items() -> bool:
    items = (object(), object())
    return [_pointer(id(items) + TUPLE + 8 * k) for k in range(2)] == [id(item) for item in items]


def _has_methods() -> bool:
    found = []
    for function in (len, divmod):
        described = MethodDef.from_address(_pointer(id(function) + _METHOD) or 0)
        found.append((described.name, described.flags))
    return found == [(b"len", ONE_ARGUMENT), (b"divmod", FASTCALL)]


def _has_numbers() -> bool:
    sample = np.int64(0x0123456789ABCDEF)
    return ctypes.c_int64.from_address(id(sample) + SCALAR).value == int(sample)


def _has_arrays() -> bool:
    sample = np.zeros((3, 4), np.float32)[:, 1:3]
    base = id(sample)
    at = {name: base + offset for name, offset in ARRAY.items()}
    found = [_pointer(at["data"]), _pointer(at["descr"]), _pointer(at["weakrefs"])]
    if found != [sample.ctypes.data, id(sample.dtype), None]:
        return False
    reference = weakref.ref(sample)
    if _pointer(at["weakrefs"]) != id(reference):
        return False
    number = ctypes.c_int
    if [number.from_address(at[name]).value for name in ("nd", "flags")] != [2, sample.flags.num]:
        return False
    pair = ctypes.c_int64 * 2
    sizes, strides = (pair.from_address(_pointer(at[name]) or 0) for name in ("dims", "strides"))
    return (tuple(sizes), tuple(strides)) == (sample.shape, sample.strides)


def _has_flags() -> bool:
    whole, part = np.zeros(4), np.zeros(4)[::2]
    part.flags.writeable = False
    wanted = CONTIGUOUS | ALIGNED | WRITABLE
    return (whole.flags.num & wanted, part.flags.num & wanted) == (wanted, ALIGNED)


def _has_table() -> bool:
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(numpy_function(_VERSION_AT))
    return version() in _VERSIONS


_CHECKS: dict[str, Callable[[], Any]] = {
    "kind of build": _is_common_build,
    "head of objects": _has_header,
    "form of tuples": _has_items,
    "form of builtin functions": _has_methods,
    "form of NumPy's scalars": _has_numbers,
    "form of NumPy's arrays": _has_arrays,
    "meaning of flags of arrays": _has_flags,
    "table of NumPy's functions": _has_table,
}
