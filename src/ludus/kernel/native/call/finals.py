"""Collects the last observations and infos of finished episodes in native code.

Every step that ends episodes returns an array of objects with one observation per episode.
Allocating and freeing it, and the observations, would take longer than the step. So they are kept
and reused when there are no other references to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.kernel.native.abi import ARRAY, TUPLE
from ludus.kernel.native.call.one import new_array_address
from ludus.kernel.native.cpython import builtin_function, load, load_item, with_declarations, write
from ludus.kernel.native.final_values import (
    TUPLE_BITS,
    FinalForm,
    count_none,
    fill_source,
    is_free,
    put,
    put_counted,
)

__all__ = ["FinalObservations", "finals_source"]

_TURNS = 2
"""Number of arrays used in turn: the caller still has the last one while the next is filled."""


class FinalObservations:
    """Returns the last observations and infos of finished episodes.

    Args:
        form: The type of an observation, and the kinds of infos.
        last: The last observations of all environments, environments first, in C order; for tuples
            the rows of their items.
        listed: Receives the indices of finished environments; an array of int64 in C order.
        told: The rows of the last infos, of float64.
    """

    def __init__(self, form: FinalForm, last: Any, listed: Any, told: Any) -> None:
        from ludus.kernel.native.calls import shim_address

        self._n, self._listed = len(listed), listed
        self._kept = np.full(_TURNS, None, dtype=object)
        self._turn = 0
        # For each array used in turn: how many elements are filled, and which.
        filled = np.zeros((_TURNS, self._n + 1), np.int64)
        is_array = form.kind == "array"
        # The observation arrays, one for each environment; or tuples by hash, and their numbers.
        places = self._n if is_array else 2**TUPLE_BITS
        episodes = np.full(places, None, dtype=object)
        pattern = np.zeros(last.shape[1:] if is_array else (places, form.size), last.dtype)
        arrays = (self._kept, episodes, pattern, last, listed, filled, told)
        known = {"ludus.ndarray": np.ndarray, "ludus.bool": np.dtype(np.bool_)}
        known |= {"ludus.float64": np.dtype(np.float64), "ludus.int64": np.dtype(np.int64)}
        symbols = {name: id(value) for name, value in known.items()}
        symbols["ludus.new_array"] = new_array_address()
        address = shim_address(finals_source(form), symbols)
        size = pattern.nbytes if is_array else last.strides[0]
        owner = (*arrays, self._n, size, told.strides[0])
        self.at_once = builtin_function("finals", address, owner=owner, one=True)
        """Like a call, but returns ``None`` if all arrays are in use."""

    def of(self, indices: Any) -> tuple[Any, ...]:
        """Return the result of a call for the environments at these indices."""
        self._listed[: len(indices)] = indices
        return self(len(indices))

    def __call__(self, count: int) -> tuple[Any, ...]:
        """Return an array of objects: an observation where an episode is over, else ``None``.

        It is followed by two masks of these environments, and for each info by an array of its last
        values (zeros for the other environments) and one more mask. All but the first are new.

        Args:
            count: How many episodes are over; their environments are in ``listed``.
        """
        filled = self.at_once(count)
        if filled is None:
            self._kept[self._turn] = np.full(self._n, None, dtype=object)
            self._turn = (self._turn + 1) % _TURNS
            filled = self.at_once(count)
        return filled  # type: ignore[no-any-return]


def finals_source(form: FinalForm) -> str:
    """Return the LLVM IR of ``shim(owner, count)``.

    It needs the symbols ``ludus.ndarray`` (the type), ``ludus.bool``, ``ludus.float64`` and
    ``ludus.int64`` (the dtypes), and ``ludus.new_array`` (``PyArray_NewFromDescr``). ``owner`` is a
    tuple of arrays and three numbers: the arrays of objects used in turn, the environments' arrays
    (or tuples by hash), an array like one observation (or the numbers in the tuples), all last
    observations, the indices of finished environments, for each turn the number of filled elements
    and their indices, all last infos; the number of environments, the bytes of an observation or of
    a tuple's row, and the bytes of a row of infos.

    The result is the tuple that :class:`FinalObservations` returns, or ``None`` if all arrays of
    objects are in use.
    """
    arrays = ("kept", "episodes", "pattern", "last", "listed", "filled", "told")
    lines = []
    for k, name in enumerate(arrays):
        lines += [*load_item(f"{name}.array", k)]
        lines += load(f"{name}.data", f"%{name}.array", ARRAY["data"])
    for k, name in enumerate(("n", "size", "told.size"), len(arrays)):
        lines += load_item(f"{name}.object", k)
        lines.append(f"  %{name} = call i64 @PyLong_AsLongLong(ptr %{name}.object)")
    return with_declarations(
        [
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "declare i64 @llvm.vector.reduce.or.v8i64(<8 x i64>)",
            "define ptr @shim(ptr %owner, ptr %count_object) {",
            *lines,
            "  %count = call i64 @PyLong_AsLongLong(ptr %count_object)",
            *_find_free(),
            *_clear(),
            *fill_source(form),
            *_give(form.infos),
            "}",
        ]
    )


def _find_free() -> list[str]:
    """Return the lines that find an array of objects without other references, as ``%chosen``."""
    lines = ["  br label %turn0"]
    for k in range(_TURNS):
        name, following = f"slot{k}", f"turn{k + 1}"
        lines += [
            f"turn{k}:",
            *load(name, "%kept.data", 8 * k),
            f"  %{name}.exists = icmp ne ptr %{name}, @_Py_NoneStruct",
            f"  br i1 %{name}.exists, label %{name}.look, label %{following}",
            f"{name}.look:",
            *is_free(name, "%kept.array", 1, ["%n"]),
            f"{name}.unfit:",
            f"  br label %{following}",
            f"{name}.fit:",
            "  br label %found",
        ]
    found = ", ".join(f"[%slot{k}, %slot{k}.fit]" for k in range(_TURNS))
    numbers = ", ".join(f"[{k}, %slot{k}.fit]" for k in range(_TURNS))
    return [
        *lines,
        f"turn{_TURNS}:",
        *_GIVE_NONE,
        "found:",
        f"  %chosen = phi ptr {found}",
        f"  %number = phi i64 {numbers}",
        *load("objects", "%chosen", ARRAY["data"]),
        "  call void @Py_IncRef(ptr %chosen)",
        "  %room = add i64 %n, 1",
        "  %skipped = mul i64 %number, %room",
        "  %own = getelementptr i64, ptr %filled.data, i64 %skipped",
        "  %places = getelementptr i64, ptr %own, i64 1",
        "  %filled_before = load i64, ptr %own",
        "  store i64 0, ptr %own",
    ]


_GIVE_NONE = (
    "  call void @Py_IncRef(ptr @_Py_NoneStruct)",
    "  ret ptr @_Py_NoneStruct",
)


def _clear() -> list[str]:
    """Return the lines that clear the elements filled last time, and all if others are filled.

    The caller may have filled others.
    """
    return [
        # Counted at once, because changing the count in each iteration would be slow.
        *count_none("add", "cleared", "%filled_before"),
        "  br label %clear",
        "clear:",
        "  %c = phi i64 [0, %found], [%c.next, %clear.done]",
        "  %c.left = icmp slt i64 %c, %filled_before",
        "  br i1 %c.left, label %clear.body, label %inspect",
        "clear.body:",
        "  %c.at = getelementptr i64, ptr %places, i64 %c",
        "  %c.index = load i64, ptr %c.at",
        "  %clear.place = getelementptr ptr, ptr %objects, i64 %c.index",
        *put_counted("clear", "@_Py_NoneStruct"),
        "  %c.next = add i64 %c, 1",
        "  br label %clear",
        "inspect:",
        "  %none = ptrtoint ptr @_Py_NoneStruct to i64",
        "  %one_none = insertelement <8 x i64> poison, i64 %none, i64 0",
        "  %nones = shufflevector <8 x i64> %one_none, <8 x i64> poison, <8 x i32> zeroinitializer",
        "  %even = and i64 %n, -8",
        "  br label %eights",
        "eights:",
        "  %e = phi i64 [0, %inspect], [%e.next, %eights.body]",
        "  %unlike = phi <8 x i64> [zeroinitializer, %inspect], [%unlike.next, %eights.body]",
        "  %e.left = icmp slt i64 %e, %even",
        "  br i1 %e.left, label %eights.body, label %judge",
        "eights.body:",
        "  %eight.at = getelementptr ptr, ptr %objects, i64 %e",
        "  %eight = load <8 x i64>, ptr %eight.at, align 8",
        "  %differing = xor <8 x i64> %eight, %nones",
        "  %unlike.next = or <8 x i64> %unlike, %differing",
        "  %e.next = add i64 %e, 8",
        "  br label %eights",
        "judge:",
        "  %any = call i64 @llvm.vector.reduce.or.v8i64(<8 x i64> %unlike)",
        "  %is_clear = icmp eq i64 %any, 0",
        # The last few are always cleared.
        "  %wipe.first = select i1 %is_clear, i64 %even, i64 0",
        "  br label %wipe",
        "wipe:",
        "  %w = phi i64 [%wipe.first, %judge], [%w.next, %wipe.done]",
        "  %w.left = icmp slt i64 %w, %n",
        "  br i1 %w.left, label %wipe.body, label %each",
        "wipe.body:",
        "  %wipe.place = getelementptr ptr, ptr %objects, i64 %w",
        *put("wipe", "@_Py_NoneStruct"),
        "  %w.next = add i64 %w, 1",
        "  br label %wipe",
    ]


_MADE = {
    "bool": ("i8", "%{0}.told = fcmp une double %{0}.held, 0.0", "zext i1 %{0}.told to i8"),
    "int": ("i64", "", "fptosi double %{0}.held to i64"),
    "float": ("double", "", "fadd double %{0}.held, -0.0"),
}
"""How an info is converted to its array's dtype: the LLVM type, and the lines."""
_DTYPES = {"bool": "bool", "int": "int64", "float": "float64"}
_BYTES = {"bool": 1, "int": 8, "float": 8}


def _give(infos: tuple[str, ...]) -> list[str]:
    """Return the lines that create the masks and arrays of infos and return all as a tuple.

    Args:
        infos: ``"float"``, ``"int"`` or ``"bool"`` for each info.
    """
    made = [("first", "bool"), ("second", "bool")]
    for k, kind in enumerate(infos):
        made += [(f"value{k}", kind), (f"mask{k}", "bool")]
    lines = ["end:", *load("chosen.dims", "%chosen", ARRAY["dims"])]
    for name, kind in made:
        given = f"ptr @ludus.ndarray, ptr @ludus.{_DTYPES[kind]}, i32 1, ptr %chosen.dims"
        lines += [
            f"  call void @Py_IncRef(ptr @ludus.{_DTYPES[kind]})",
            f"  %{name} = call ptr @ludus.new_array({given}, ptr null, ptr null, i32 0, ptr null)",
            f"  %{name}.made = icmp ne ptr %{name}, null",
        ]
    given_back = ["chosen", *(name for name, _ in made)]
    # A failed allocation leaves a null pointer in the tuple, which can still be freed.
    lines += [
        f"  %tuple = call ptr @PyTuple_New(i64 {len(given_back)})",
        "  %tuple.made = icmp ne ptr %tuple, null",
        "  br i1 %tuple.made, label %pack, label %no_tuple",
        "no_tuple:",
        *(f"  call void @Py_DecRef(ptr %{name})" for name in given_back),
        "  ret ptr null",
        "pack:",
    ]
    for k, name in enumerate(given_back):
        lines += [
            f"  %item{k} = getelementptr i8, ptr %tuple, i64 {TUPLE + 8 * k}",
            f"  store ptr %{name}, ptr %item{k}",
        ]
    so_far = "%first.made"
    for name, _ in made[1:]:
        lines.append(f"  %{name}.all = and i1 {so_far}, %{name}.made")
        so_far = f"%{name}.all"
    lines += [
        f"  br i1 {so_far}, label %zeros, label %drop",
        "drop:",
        "  call void @Py_DecRef(ptr %tuple)",
        "  ret ptr null",
        "zeros:",
    ]
    return [*lines, *_mark(made, infos)]


def _mark(made: list[tuple[str, str]], infos: tuple[str, ...]) -> list[str]:
    """Return the lines that fill the new arrays: the finished environments' values, else zeros."""
    values = {f"value{k}": kind for k, kind in enumerate(infos)}
    masks = [name for name, _ in made[1:] if name not in values]
    lines = []
    for name, _ in made:
        lines += load(f"{name}.data", f"%{name}", ARRAY["data"])
    for name, kind in {"first": "bool", **values}.items():
        lines.append(f"  %{name}.bytes = mul i64 %n, {_BYTES[kind]}")
        given = f"ptr %{name}.data, i8 0, i64 %{name}.bytes, i1 false"
        lines.append(f"  call void @llvm.memset.p0.i64({given})")
    for k, name in enumerate(values):
        lines.append(f"  %{name}.skip = mul i64 %told.size, {k}")
        lines.append(f"  %{name}.row = getelementptr i8, ptr %told.data, i64 %{name}.skip")
    copied = [f"ptr %{name}.data, ptr %first.data, i64 %n, i1 false" for name in masks]
    lines += [
        "  br label %mark",
        "mark:",
        "  %j = phi i64 [0, %zeros], [%j.next, %mark.body]",
        "  %j.left = icmp slt i64 %j, %count",
        "  br i1 %j.left, label %mark.body, label %give",
        "give:",
        *(f"  call void @llvm.memcpy.p0.p0.i64({given})" for given in copied),
        "  ret ptr %tuple",
        "mark.body:",
        "  %j.at = getelementptr i64, ptr %places, i64 %j",
        "  %j.index = load i64, ptr %j.at",
        "  %flag = getelementptr i8, ptr %first.data, i64 %j.index",
        "  store i8 1, ptr %flag",
    ]
    for name, kind in values.items():
        held, before, convert = _MADE[kind]
        lines += [
            f"  %{name}.from = getelementptr double, ptr %{name}.row, i64 %j.index",
            f"  %{name}.held = load double, ptr %{name}.from",
            *([f"  {before.format(name)}"] if before else []),
            f"  %{name}.one = {convert.format(name)}",
            *write(f"{name}.to", held, f"%{name}.data", "%j.index", f"%{name}.one"),
        ]
    return [*lines, "  %j.next = add i64 %j, 1", "  br label %mark"]
