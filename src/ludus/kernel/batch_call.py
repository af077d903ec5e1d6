"""The step of a batch as one native function, from the array of actions to the count.

In Python half the time of a small step goes into looking at the array and copying it. Arrays that
are not just as the step reads them are left to Python.
"""

from __future__ import annotations

import numpy as np

from ludus.kernel.callable import GIVE_COUNT, OR_RAISE, without_lock
from ludus.kernel.cpython import NO_ERROR, with_declarations
from ludus.kernel.object_fields import ALIGNED, ARRAY, CONTIGUOUS, load, load_item

__all__ = ["batch_source", "batch_symbols"]

_PLAIN = CONTIGUOUS | ALIGNED


def batch_symbols() -> dict[str, int]:
    """Return where what the step knows of NumPy is, by the names it has for them."""
    return {"ludus.ndarray": id(np.ndarray), "ludus.whole": id(np.dtype(np.int64))}


def batch_source() -> str:
    """Return ``shim(owner, actions)``, the step, in LLVM's language.

    It expects ``ludus.native``, which is ``step``, ``ludus.problem``, the function that
    raises, and those of :func:`batch_symbols`.

    ``owner`` is a tuple: the table's address, the number of environments, and the address that a
    step reads actions from. The result is that of the step, or ``None`` if it was not made because
    ``actions`` is not an array of as many int64, one after the other.
    """
    given = "ptr %result, ptr %error, i64 %table, i64 0, i64 %n"
    return with_declarations(
        [
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "define ptr @shim(ptr %owner, ptr %actions) {",
            "  %result = alloca i64",
            *NO_ERROR,
            *load("type", "%actions", 8),
            "  %is_array = icmp eq ptr %type, @ludus.ndarray",
            "  br i1 %is_array, label %array, label %odd",
            "array:",
            *load("axes", "%actions", ARRAY["nd"], "i32"),
            *load("flags", "%actions", ARRAY["flags"], "i32"),
            *load("descr", "%actions", ARRAY["descr"]),
            "  %one_axis = icmp eq i32 %axes, 1",
            f"  %order = and i32 %flags, {_PLAIN}",
            f"  %in_order = icmp eq i32 %order, {_PLAIN}",
            "  %is_whole = icmp eq ptr %descr, @ludus.whole",
            "  %simple = and i1 %one_axis, %in_order",
            "  %fits = and i1 %simple, %is_whole",
            "  br i1 %fits, label %measure, label %odd",
            "measure:",
            *load_item("n_object", 1),
            "  %n = call i64 @PyLong_AsLongLong(ptr %n_object)",
            *load("dims", "%actions", ARRAY["dims"]),
            "  %length = load i64, ptr %dims",
            "  %as_many = icmp eq i64 %length, %n",
            "  br i1 %as_many, label %run, label %odd",
            "odd:",
            "  call void @Py_IncRef(ptr @_Py_NoneStruct)",
            "  ret ptr @_Py_NoneStruct",
            "run:",
            *load_item("table_object", 0),
            *load_item("place_object", 2),
            "  %table = call i64 @PyLong_AsLongLong(ptr %table_object)",
            "  %place = call i64 @PyLong_AsLongLong(ptr %place_object)",
            "  %to = inttoptr i64 %place to ptr",
            *load("from", "%actions", ARRAY["data"]),
            "  %size = shl i64 %n, 3",
            # A copy, which nobody changes between the look at it and the step.
            "  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)",
            *without_lock(f"  %status = call i32 @ludus.native({given})"),
            *OR_RAISE,
            *GIVE_COUNT,
            "}",
        ]
    )
