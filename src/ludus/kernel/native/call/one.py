"""LLVM IR of the step of a single environment, from the action to the returned tuple.

In Python, most of such a step is spent on checking the action and building the results. Unusual
actions (other types, out of range) are left to the step in Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.kernel.native.abi import ALIGNED, ARRAY, NEW_FROM_DESCR, SCALAR, TUPLE, numpy_function
from ludus.kernel.native.builtin import OR_RAISE
from ludus.kernel.native.cpython import NO_ERROR, load, load_item, with_declarations

__all__ = ["new_array_address", "step_source", "step_symbols"]

_FLOATS: dict[np.dtype[Any], str] = {
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
}


def step_symbols() -> dict[str, int]:
    """Return the addresses of Python's and NumPy's objects that the step needs, by symbol."""
    known = {
        "ludus.int": int,
        "ludus.int64": np.int64,
        "ludus.ndarray": np.ndarray,
        **{f"ludus.{dtype}": dtype for dtype in _FLOATS},
    }
    symbols = {name: id(value) for name, value in known.items()}
    return {**symbols, "ludus.new_array": new_array_address()}


def new_array_address() -> int:
    """Return the address of ``PyArray_NewFromDescr``."""
    return numpy_function(NEW_FROM_DESCR)


def step_source(
    *, bounds: tuple[int, int] | None, size: int, seen: tuple[str, int], whole: bool
) -> str:
    """Return the LLVM IR of ``shim(owner, action)``, the step.

    It needs the symbols ``ludus.native`` (the driver's ``step_one``), ``ludus.problem`` (the
    function that raises) and those of :func:`step_symbols`.

    ``owner`` is a tuple: the table's address, that of the reward, the source of the observation, a
    function that returns the infos or ``None`` if there are none, and the step in Python.

    Args:
        bounds: Lowest action and the one after the highest, if an action is an int; otherwise it is
            an array of floats.
        size: How many numbers an action has.
        seen: How the observation is read: ``"copy"`` of a contiguous array, ``"int"`` at an
            address, or ``"call"`` of a function; and the array's size in bytes.
        whole: Whether rewards are returned as ints.
    """
    how, seen_size = seen
    read = _read_int(*bounds) if bounds is not None else _read_floats(size)
    kind = "i64" if bounds is not None else "double"
    given = ", ".join(
        ["ptr %result", "ptr %error", "i64 %table", *(f"{kind} %number{k}" for k in range(size))]
    )
    return with_declarations(
        [
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "define ptr @shim(ptr %owner, ptr %action) {",
            "  %result = alloca i64",
            *NO_ERROR,
            *load("type", "%action", 8),
            *read,
            "odd:",
            "  call void @PyErr_Clear()",
            *load_item("fallback", 4),
            "  %other = call ptr @PyObject_CallOneArg(ptr %fallback, ptr %action)",
            "  ret ptr %other",
            "run:",
            *load_item("table_object", 0),
            *load_item("reward_object", 1),
            *load_item("source", 2),
            *load_item("tell", 3),
            "  %table = call i64 @PyLong_AsLongLong(ptr %table_object)",
            "  %reward_at = call i64 @PyLong_AsLongLong(ptr %reward_object)",
            f"  %status = call i32 @ludus.native({given})",
            *OR_RAISE,
            *_READ_OBSERVATION[how](seen_size),
            *_give_results(whole=whole),
            "}",
        ]
    )


def _read_int(start: int, stop: int) -> list[str]:
    """Return the lines that read an int or an int64, and go to ``run`` if it is in range."""
    return [
        "  %is_int = icmp eq ptr %type, @ludus.int",
        "  br i1 %is_int, label %int, label %no_int",
        "int:",
        "  %converted = call i64 @PyLong_AsLongLong(ptr %action)",
        "  br label %check",
        "no_int:",
        "  %is_scalar = icmp eq ptr %type, @ludus.int64",
        "  br i1 %is_scalar, label %scalar, label %odd",
        "scalar:",
        *load("held", "%action", SCALAR, "i64"),
        "  br label %check",
        "check:",
        "  %number0 = phi i64 [ %converted, %int ], [ %held, %scalar ]",
        f"  %high_enough = icmp sge i64 %number0, {start}",
        f"  %low_enough = icmp slt i64 %number0, {stop}",
        "  %in_range = and i1 %high_enough, %low_enough",
        # For an int beyond 64 bits the function returns -1 and sets an error.
        "  %unreadable = call ptr @PyErr_Occurred()",
        "  %readable = icmp eq ptr %unreadable, null",
        "  %fine = and i1 %in_range, %readable",
        "  br i1 %fine, label %run, label %odd",
    ]


def _read_floats(size: int) -> list[str]:
    """Return the lines that read an array of floats, and go to ``run`` if it is contiguous."""
    lines = [
        "  %is_array = icmp eq ptr %type, @ludus.ndarray",
        "  br i1 %is_array, label %array, label %odd",
        "array:",
        *load("axes", "%action", ARRAY["nd"], "i32"),
        *load("flags", "%action", ARRAY["flags"], "i32"),
        *load("descr", "%action", ARRAY["descr"]),
        *load("data", "%action", ARRAY["data"]),
        "  %one_axis = icmp eq i32 %axes, 1",
        f"  %alignment = and i32 %flags, {ALIGNED}",
        "  %aligned = icmp ne i32 %alignment, 0",
        "  %simple = and i1 %one_axis, %aligned",
        "  br i1 %simple, label %measure, label %odd",
        "measure:",
        *load("dims", "%action", ARRAY["dims"]),
        *load("strides", "%action", ARRAY["strides"]),
        "  %length = load i64, ptr %dims",
        "  %stride = load i64, ptr %strides",
        f"  %fits = icmp eq i64 %length, {size}",
    ]
    for name, (dtype, kind) in zip(("single", "double"), _FLOATS.items(), strict=True):
        lines += [
            f"  %is_{name} = icmp eq ptr %descr, @ludus.{dtype}",
            f"  %{name}_close = icmp eq i64 %stride, {dtype.itemsize}",
            f"  %{name}_a = and i1 %is_{name}, %fits",
            f"  %{name}_b = and i1 %{name}_a, %{name}_close",
            f"  br i1 %{name}_b, label %{name}, label %not_{name}",
            f"{name}:",
        ]
        held = "" if kind == "double" else ".held"
        for k in range(size):
            lines += [
                f"  %{name}{k}.at = getelementptr {kind}, ptr %data, i64 {k}",
                f"  %{name}{k}{held} = load {kind}, ptr %{name}{k}.at",
                *([f"  %{name}{k} = fpext float %{name}{k}{held} to double"] if held else []),
            ]
        lines += ["  br label %numbers", f"not_{name}:"]
    lines += ["  br label %odd", "numbers:"]
    lines += [
        f"  %number{k} = phi double [ %single{k}, %single ], [ %double{k}, %double ]"
        for k in range(size)
    ]
    return [*lines, *_check_finite(size)]


def _check_finite(size: int) -> list[str]:
    """Return the lines that go to ``run`` if no number is NaN or infinite."""
    lines, so_far = [], "true"
    for k in range(size):
        # The difference of a number and itself is 0 unless it is NaN or infinite.
        lines += [
            f"  %zero{k} = fsub double %number{k}, %number{k}",
            f"  %is_finite{k} = fcmp oeq double %zero{k}, 0.0",
            f"  %finite{k} = and i1 {so_far}, %is_finite{k}",
        ]
        so_far = f"%finite{k}"
    return [*lines, f"  br i1 {so_far}, label %run, label %odd"]


def _copy_array(size: int) -> list[str]:
    given = "ptr @ludus.ndarray, ptr %source_descr, i32 %source_axes, ptr %source_dims"
    return [
        *load("from", "%source", ARRAY["data"]),
        *load("source_axes", "%source", ARRAY["nd"], "i32"),
        *load("source_dims", "%source", ARRAY["dims"]),
        *load("source_descr", "%source", ARRAY["descr"]),
        # The new array steals a reference.
        "  call void @Py_IncRef(ptr %source_descr)",
        f"  %observation = call ptr @ludus.new_array({given}, ptr null, ptr null, i32 0, ptr null)",
        "  %made = icmp ne ptr %observation, null",
        "  br i1 %made, label %fill, label %filled",
        "fill:",
        *load("to", "%observation", ARRAY["data"]),
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 {size}, i1 false)",
        "  br label %filled",
        "filled:",
    ]


def _read_whole_number(_size: int) -> list[str]:
    return [
        "  %number_at = call i64 @PyLong_AsLongLong(ptr %source)",
        "  %number_place = inttoptr i64 %number_at to ptr",
        "  %number = load i64, ptr %number_place",
        "  %observation = call ptr @PyLong_FromLongLong(i64 %number)",
    ]


def _call_reader(_size: int) -> list[str]:
    return ["  %observation = call ptr @PyObject_CallNoArgs(ptr %source)"]


_READ_OBSERVATION = {"copy": _copy_array, "int": _read_whole_number, "call": _call_reader}


def _give_results(*, whole: bool) -> list[str]:
    """Return the lines that build ``(observation, reward, terminated, False, infos)``."""
    make_reward = ["  %reward = call ptr @PyFloat_FromDouble(double %paid)"]
    if whole:
        make_reward = [
            "  %paid_whole = fptosi double %paid to i64",
            "  %reward = call ptr @PyLong_FromLongLong(i64 %paid_whole)",
        ]
    return [
        "  %reward_place = inttoptr i64 %reward_at to ptr",
        "  %paid = load double, ptr %reward_place",
        *make_reward,
        "  %ended = load i64, ptr %result",
        "  %is_over = icmp eq i64 %ended, 1",
        "  %terminated = select i1 %is_over, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct",
        "  call void @Py_IncRef(ptr %terminated)",
        "  call void @Py_IncRef(ptr @_Py_FalseStruct)",
        "  %silent = icmp eq ptr %tell, @_Py_NoneStruct",
        "  br i1 %silent, label %nothing, label %something",
        "nothing:",
        "  %empty = call ptr @PyDict_New()",
        "  br label %pack",
        "something:",
        "  %told = call ptr @PyObject_CallNoArgs(ptr %tell)",
        "  br label %pack",
        "pack:",
        "  %infos = phi ptr [ %empty, %nothing ], [ %told, %something ]",
        "  %tuple = call ptr @PyTuple_New(i64 5)",
        "  %room = icmp ne ptr %tuple, null",
        "  br i1 %room, label %put, label %none",
        "none:",
        "  ret ptr null",
        "put:",
        # The tuple steals the references, null pointers included.
        *_put(0, "%observation"),
        *_put(1, "%reward"),
        *_put(2, "%terminated"),
        *_put(3, "@_Py_FalseStruct"),
        *_put(4, "%infos"),
        "  %seen = icmp ne ptr %observation, null",
        "  %paid_out = icmp ne ptr %reward, null",
        "  %said = icmp ne ptr %infos, null",
        "  %most = and i1 %seen, %paid_out",
        "  %whole = and i1 %most, %said",
        "  br i1 %whole, label %give, label %drop",
        "give:",
        "  ret ptr %tuple",
        "drop:",
        "  call void @Py_DecRef(ptr %tuple)",
        "  ret ptr null",
    ]


def _put(index: int, value: str) -> list[str]:
    return [
        f"  %item{index} = getelementptr i8, ptr %tuple, i64 {TUPLE + 8 * index}",
        f"  store ptr {value}, ptr %item{index}",
    ]
