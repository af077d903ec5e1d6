"""LLVM IR of the step of a batch, from the array of actions to the number of ended episodes.

In Python, half the time of a small step is spent on checking and copying the array. Actions that
are not an array of a plain dtype and the right shape are left to Python.
"""

from __future__ import annotations

import numpy as np

from ludus.kernel.native.abi import ARRAY
from ludus.kernel.native.builtin import GIVE_COUNT, OR_RAISE, without_lock
from ludus.kernel.native.cpython import NO_ERROR, load, load_item, read, with_declarations

__all__ = ["batch_source", "batch_symbols"]

# LLVM type and widening instruction of each dtype, by the kind of number it is converted to.
_READ = {
    "int": {
        "int64": ("i64", ""),
        "int32": ("i32", "sext"),
        "int16": ("i16", "sext"),
        "int8": ("i8", "sext"),
        "uint64": ("i64", ""),
        "uint32": ("i32", "zext"),
        "uint16": ("i16", "zext"),
        "uint8": ("i8", "zext"),
        "bool": ("i8", "zext"),
    },
    "float": {"float32": ("float", "fpext"), "float64": ("double", "")},
}
_HELD = {"int": "i64", "float": "double"}


def batch_symbols(kind: str) -> dict[str, int]:
    """Return the addresses of NumPy's objects that the step needs, by symbol."""
    dtypes = {f"ludus.{name}": id(np.dtype(name)) for name in _READ[kind]}
    return {"ludus.ndarray": id(np.ndarray), **dtypes}


def batch_source(kind: str, size: int) -> str:
    """Return the LLVM IR of ``shim(owner, actions)``, the step.

    It needs the symbols ``ludus.native`` (the driver's ``step``), ``ludus.problem`` (the function
    that raises) and those of :func:`batch_symbols`.

    ``owner`` is a tuple: the table's address, the number of environments, the address of the rows
    of actions, and the distance between rows in numbers. The result is that of the step, or
    ``None`` if no step was made because ``actions`` is not an array of a known dtype with one
    action per environment. The array may have any strides.

    Args:
        kind: The kind of an action's numbers, ``"int"`` or ``"float"``.
        size: How many numbers an action has.
    """
    given = "ptr %result, ptr %error, i64 %table, i64 0, i64 %n"
    return with_declarations(
        [
            "define ptr @shim(ptr %owner, ptr %actions) {",
            "  %result = alloca i64",
            *NO_ERROR,
            *load("type", "%actions", 8),
            "  %is_array = icmp eq ptr %type, @ludus.ndarray",
            "  br i1 %is_array, label %array, label %odd",
            "odd:",
            "  call void @Py_IncRef(ptr @_Py_NoneStruct)",
            "  ret ptr @_Py_NoneStruct",
            "array:",
            *_measure(size),
            *load_item("table_object", 0),
            *load_item("place_object", 2),
            *load_item("apart_object", 3),
            "  %table = call i64 @PyLong_AsLongLong(ptr %table_object)",
            "  %place = call i64 @PyLong_AsLongLong(ptr %place_object)",
            "  %apart = call i64 @PyLong_AsLongLong(ptr %apart_object)",
            "  %to = inttoptr i64 %place to ptr",
            *load("from", "%actions", ARRAY["data"]),
            *load("descr", "%actions", ARRAY["descr"]),
            # Copied, so that the actions cannot change between the check and the step.
            *_copy_numbers(kind, size),
            "go:",
            *without_lock(f"  %status = call i32 @ludus.native({given})"),
            *OR_RAISE,
            *GIVE_COUNT,
            "}",
        ]
    )


def _measure(size: int) -> list[str]:
    """Return the lines that continue if there is one action per environment, and read strides."""
    return [
        *load_item("n_object", 1),
        "  %n = call i64 @PyLong_AsLongLong(ptr %n_object)",
        *load("axes", "%actions", ARRAY["nd"], "i32"),
        *load("dims", "%actions", ARRAY["dims"]),
        *load("strides", "%actions", ARRAY["strides"]),
        "  %two_axes = icmp eq i32 %axes, 2",
        "  br i1 %two_axes, label %matrix, label %vector",
        "matrix:",
        *read("wide", "i64", "%dims", "1"),
        f"  %as_wide = icmp eq i64 %wide, {size}",
        "  %across.at = getelementptr i64, ptr %strides, i64 1",
        "  %across.held = load i64, ptr %across.at",
        "  br i1 %as_wide, label %count, label %odd",
        "vector:",
        "  %one_axis = icmp eq i32 %axes, 1",
        f"  %alone = and i1 %one_axis, {'true' if size == 1 else 'false'}",
        "  br i1 %alone, label %count, label %odd",
        "count:",
        "  %across = phi i64 [%across.held, %matrix], [0, %vector]",
        "  %length = load i64, ptr %dims",
        "  %along = load i64, ptr %strides",
        "  %as_many = icmp eq i64 %length, %n",
        "  br i1 %as_many, label %run, label %odd",
        "run:",
    ]


def _copy_numbers(kind: str, size: int) -> list[str]:
    """Return the lines that copy the actions to the storage, for each dtype."""
    lines: list[str] = []
    for name, (held, widen) in _READ[kind].items():
        lines += [
            f"  %is_{name} = icmp eq ptr %descr, @ludus.{name}",
            f"  br i1 %is_{name}, label %{name}, label %not_{name}",
            f"{name}:",
            "  br label " + f"%{name}.0",
        ]
        for k in range(size):
            lines += _copy_row(name, held, widen, _HELD[kind], k)
        lines += [f"{name}.{size}:", "  br label %go", f"not_{name}:"]
    return [*lines, "  br label %odd"]


def _copy_row(name: str, held: str, widen: str, made: str, k: int) -> list[str]:
    """Return the loop that copies the ``k``-th number of each action."""
    own = f"{name}{k}"
    value = f"%{own}.held" if not widen else f"%{own}.value"
    return [
        f"{name}.{k}:",
        f"  %{own}.shift = mul i64 %across, {k}",
        f"  %{own}.from = getelementptr i8, ptr %from, i64 %{own}.shift",
        f"  %{own}.skip = mul i64 %apart, {k}",
        f"  %{own}.to = getelementptr {made}, ptr %to, i64 %{own}.skip",
        f"  br label %{own}.head",
        f"{own}.head:",
        f"  %{own}.i = phi i64 [0, %{name}.{k}], [%{own}.next, %{own}.body]",
        f"  %{own}.left = icmp slt i64 %{own}.i, %n",
        f"  br i1 %{own}.left, label %{own}.body, label %{name}.{k + 1}",
        f"{own}.body:",
        f"  %{own}.offset = mul i64 %{own}.i, %along",
        f"  %{own}.at = getelementptr i8, ptr %{own}.from, i64 %{own}.offset",
        # Also reads unaligned arrays.
        f"  %{own}.held = load {held}, ptr %{own}.at, align 1",
        *([f"  {value} = {widen} {held} %{own}.held to {made}"] if widen else []),
        f"  %{own}.put = getelementptr {made}, ptr %{own}.to, i64 %{own}.i",
        f"  store {made} {value}, ptr %{own}.put",
        f"  %{own}.next = add i64 %{own}.i, 1",
        f"  br label %{own}.head",
    ]
