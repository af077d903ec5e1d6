"""The last observations of finished episodes as an array of arrays, filled in native code.

Every step that ends episodes returns one such array with one small array per episode. Making and
freeing them would take longer than the step. So both are kept and used again, as soon as nobody
else has a reference to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.kernel.cpython import builtin_function, with_declarations
from ludus.kernel.object_fields import ARRAY, TUPLE, load, load_item
from ludus.kernel.step_call import new_array_address

__all__ = ["FinalObservations", "finals_source"]

_TURNS = 2
"""Arrays that take turns: a caller still has the last one while the next is filled."""


class FinalObservations:
    """Gives the last observations of finished episodes, each an array of its own.

    Args:
        last: The last observations of all environments, environments first, in C order.
        listed: Where the indices of finished environments are put; an array of int64 in C order.
    """

    def __init__(self, last: Any, listed: Any) -> None:
        from ludus.kernel.native import shim_address

        self._n, self._listed = len(last), listed
        self._kept = np.full(_TURNS, None, dtype=object)
        self._turn = 0
        # Of each array that takes turns: how many places are filled, and which.
        filled = np.zeros((_TURNS, self._n + 1), np.int64)
        pattern = np.empty(last.shape[1:], last.dtype)
        # The arrays of episodes, one for each environment.
        episodes = np.full(self._n, None, dtype=object)
        arrays = (self._kept, episodes, pattern, last, listed, filled)
        known = {"ludus.ndarray": np.ndarray, "ludus.bool": np.dtype(np.bool_)}
        symbols = {name: id(value) for name, value in known.items()}
        symbols["ludus.new_array"] = new_array_address()
        address = shim_address(finals_source(pattern.ndim), symbols)
        owner = (*arrays, self._n, pattern.nbytes)
        self.at_once = builtin_function("finals", address, owner=owner, one=True)
        """As a call, but ``None`` if each of the arrays is in use."""

    def of(self, over: Any) -> tuple[Any, Any, Any]:
        """Return what a call returns, for the environments in a mask."""
        indices = np.flatnonzero(over)
        self._listed[: len(indices)] = indices
        return self(len(indices))

    def __call__(self, count: int) -> tuple[Any, Any, Any]:
        """Return an array of objects: an observation where an episode is over, else ``None``.

        With it come two masks of these environments, both of them new.

        Args:
            count: How many episodes are over; their environments are listed.
        """
        filled = self.at_once(count)
        if filled is None:
            self._kept[self._turn] = np.full(self._n, None, dtype=object)
            self._turn = (self._turn + 1) % _TURNS
            filled = self.at_once(count)
        return filled  # type: ignore[no-any-return]


def finals_source(axes: int) -> str:
    """Return ``shim(owner, count)`` as LLVM IR.

    It expects ``ludus.ndarray``, the type, ``ludus.bool``, the dtype, and ``ludus.new_array``,
    NumPy's function that makes arrays. ``owner`` is a tuple of arrays and two numbers: the arrays
    of objects that take turns, the environments' arrays, an array like one observation, all last
    observations, the indices of finished environments, for each turn the number of places filled
    and their indices; the number of environments and the bytes of an observation.

    The result is a tuple: one of the arrays that take turns, and two masks of the finished
    environments. It is ``None`` if each of the arrays is in use.

    Args:
        axes: How many axes an observation has.
    """
    arrays = ("kept", "episodes", "pattern", "last", "listed", "filled")
    lines = []
    for k, name in enumerate(arrays):
        lines += [*load_item(f"{name}.array", k)]
        lines += load(f"{name}.data", f"%{name}.array", ARRAY["data"])
    return with_declarations(
        [
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "declare i64 @llvm.vector.reduce.or.v8i64(<8 x i64>)",
            "define ptr @shim(ptr %owner, ptr %count_object) {",
            *lines,
            *load_item("n_object", len(arrays)),
            *load_item("size_object", len(arrays) + 1),
            "  %n = call i64 @PyLong_AsLongLong(ptr %n_object)",
            "  %size = call i64 @PyLong_AsLongLong(ptr %size_object)",
            "  %count = call i64 @PyLong_AsLongLong(ptr %count_object)",
            *_find_free(),
            *_clear(),
            *_fill(axes),
            *_give_masks(),
            "}",
        ]
    )


def _is_free(name: str, like: str, axes: int, sizes: list[str]) -> list[str]:
    """Return the lines that tell as ``%{name}.free`` whether an array can be used again.

    Only one reference, none of the weak kind, and everything as in the array it was made like.
    The caller has seen that it is an array.
    """
    lines = [
        f"  %{name}.count = load i32, ptr %{name}",
        f"  %{name}.f0 = icmp eq i32 %{name}.count, 1",
    ]
    tests = 0

    def also(left: str, right: str, kind: str) -> None:
        nonlocal tests
        lines.extend(
            [
                f"  %{name}.t{tests} = icmp eq {kind} {left}, {right}",
                f"  %{name}.f{tests + 1} = and i1 %{name}.f{tests}, %{name}.t{tests}",
            ]
        )
        tests += 1

    lines += load(f"{name}.weak", f"%{name}", ARRAY["weakrefs"])
    also(f"%{name}.weak", "null", "ptr")
    for field, kind in (("nd", "i32"), ("flags", "i32"), ("descr", "ptr")):
        lines += load(f"{name}.{field}", f"%{name}", ARRAY[field], kind)
        lines += load(f"{name}.like_{field}", like, ARRAY[field], kind)
        also(f"%{name}.{field}", f"%{name}.like_{field}", kind)
    lines += [
        f"  br i1 %{name}.f{tests}, label %{name}.measure, label %{name}.unfit",
        f"{name}.measure:",
        *load(f"{name}.dims", f"%{name}", ARRAY["dims"]),
        *load(f"{name}.strides", f"%{name}", ARRAY["strides"]),
        *load(f"{name}.like_dims", like, ARRAY["dims"]),
        *load(f"{name}.like_strides", like, ARRAY["strides"]),
    ]
    for axis in range(axes):
        for field in ("dims", "strides"):
            own, other = f"{name}.{field}{axis}", f"{name}.like_{field}{axis}"
            lines += load(own, f"%{name}.{field}", 8 * axis, "i64")
            lines += load(other, f"%{name}.like_{field}", 8 * axis, "i64")
            expected = sizes[axis] if field == "dims" and sizes else f"%{other}"
            also(f"%{own}", expected, "i64")
    return [*lines, f"  br i1 %{name}.f{tests}, label %{name}.fit, label %{name}.unfit"]


def _find_free() -> list[str]:
    """Return the lines that find an array of objects which nobody uses, as ``%chosen``."""
    lines = ["  br label %turn0"]
    for k in range(_TURNS):
        name, following = f"slot{k}", f"turn{k + 1}"
        lines += [
            f"turn{k}:",
            *load(name, "%kept.data", 8 * k),
            f"  %{name}.exists = icmp ne ptr %{name}, @_Py_NoneStruct",
            f"  br i1 %{name}.exists, label %{name}.look, label %{following}",
            f"{name}.look:",
            *_is_free(name, "%kept.array", 1, ["%n"]),
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


def _put(name: str, value: str) -> list[str]:
    """Return the lines that put an object into ``%{name}.place`` instead of the one there."""
    return [
        f"  %{name}.old = load ptr, ptr %{name}.place",
        f"  call void @Py_IncRef(ptr {value})",
        f"  store ptr {value}, ptr %{name}.place",
        f"  call void @Py_DecRef(ptr %{name}.old)",
    ]


def _clear() -> list[str]:
    """Return the lines that empty the places filled last time, and all if there are others.

    Others have been filled by somebody who had the array in between.
    """
    return [
        "  br label %clear",
        "clear:",
        "  %c = phi i64 [0, %found], [%c.next, %clear.body]",
        "  %c.left = icmp slt i64 %c, %filled_before",
        "  br i1 %c.left, label %clear.body, label %inspect",
        "clear.body:",
        "  %c.at = getelementptr i64, ptr %places, i64 %c",
        "  %c.index = load i64, ptr %c.at",
        "  %clear.place = getelementptr ptr, ptr %objects, i64 %c.index",
        *_put("clear", "@_Py_NoneStruct"),
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
        # The last few are emptied in any case.
        "  %wipe.first = select i1 %is_clear, i64 %even, i64 0",
        "  br label %wipe",
        "wipe:",
        "  %w = phi i64 [%wipe.first, %judge], [%w.next, %wipe.body]",
        "  %w.left = icmp slt i64 %w, %n",
        "  br i1 %w.left, label %wipe.body, label %each",
        "wipe.body:",
        "  %wipe.place = getelementptr ptr, ptr %objects, i64 %w",
        *_put("wipe", "@_Py_NoneStruct"),
        "  %w.next = add i64 %w, 1",
        "  br label %wipe",
    ]


def _fill(axes: int) -> list[str]:
    """Return the loop that puts the array of each finished environment in its place."""
    made = "ptr @ludus.ndarray, ptr %like_descr, i32 %like_nd, ptr %like_dims"
    return [
        "each:",
        "  %k = phi i64 [0, %wipe], [%k.next, %episode.fit]",
        "  store i64 %k, ptr %own",
        "  %left = icmp slt i64 %k, %count",
        "  br i1 %left, label %finished, label %end",
        "finished:",
        "  %i.at = getelementptr i64, ptr %listed.data, i64 %k",
        "  %i = load i64, ptr %i.at",
        "  %i.to = getelementptr i64, ptr %places, i64 %k",
        "  store i64 %i, ptr %i.to",
        "  %episode.at = getelementptr ptr, ptr %episodes.data, i64 %i",
        "  %episode = load ptr, ptr %episode.at",
        "  %is_array = icmp ne ptr %episode, @_Py_NoneStruct",
        "  br i1 %is_array, label %check, label %episode.unfit",
        "check:",
        *_is_free("episode", "%pattern.array", axes, []),
        "episode.unfit:",
        *load("like_descr", "%pattern.array", ARRAY["descr"]),
        *load("like_nd", "%pattern.array", ARRAY["nd"], "i32"),
        *load("like_dims", "%pattern.array", ARRAY["dims"]),
        # The new array takes over a reference.
        "  call void @Py_IncRef(ptr %like_descr)",
        f"  %fresh = call ptr @ludus.new_array({made}, ptr null, ptr null, i32 0, ptr null)",
        "  %got = icmp ne ptr %fresh, null",
        "  br i1 %got, label %keep, label %failed",
        "failed:",
        "  call void @Py_DecRef(ptr %chosen)",
        "  ret ptr null",
        "keep:",
        "  store ptr %fresh, ptr %episode.at",
        "  call void @Py_DecRef(ptr %episode)",
        "  br label %episode.fit",
        "episode.fit:",
        "  %array = phi ptr [%fresh, %keep], [%episode, %episode.measure]",
        *load("to", "%array", ARRAY["data"]),
        "  %skip = mul i64 %i, %size",
        "  %from = getelementptr i8, ptr %last.data, i64 %skip",
        "  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)",
        "  %fill.place = getelementptr ptr, ptr %objects, i64 %i",
        *_put("fill", "%array"),
        "  %k.next = add i64 %k, 1",
        "  br label %each",
    ]


def _give_masks() -> list[str]:
    """Return the lines that make the masks and return everything as a tuple."""
    made = "ptr @ludus.ndarray, ptr @ludus.bool, i32 1, ptr %chosen.dims"
    lines = ["end:", *load("chosen.dims", "%chosen", ARRAY["dims"])]
    masks = ("first", "second")
    for name in masks:
        lines += [
            "  call void @Py_IncRef(ptr @ludus.bool)",
            f"  %{name} = call ptr @ludus.new_array({made}, ptr null, ptr null, i32 0, ptr null)",
            f"  %{name}.made = icmp ne ptr %{name}, null",
        ]
    # A missing one leaves a null pointer in the tuple, which is freed like any other.
    lines += [
        "  %tuple = call ptr @PyTuple_New(i64 3)",
        "  %tuple.made = icmp ne ptr %tuple, null",
        "  br i1 %tuple.made, label %pack, label %no_tuple",
        "no_tuple:",
        *(f"  call void @Py_DecRef(ptr %{name})" for name in ("chosen", *masks)),
        "  ret ptr null",
        "pack:",
    ]
    for k, name in enumerate(("chosen", *masks)):
        lines += [
            f"  %item{k} = getelementptr i8, ptr %tuple, i64 {TUPLE + 8 * k}",
            f"  store ptr %{name}, ptr %item{k}",
        ]
    lines += [
        "  %masks.made = and i1 %first.made, %second.made",
        "  br i1 %masks.made, label %masks, label %drop",
        "drop:",
        "  call void @Py_DecRef(ptr %tuple)",
        "  ret ptr null",
        "masks:",
    ]
    for name in masks:
        lines += load(f"{name}.data", f"%{name}", ARRAY["data"])
        lines.append(f"  call void @llvm.memset.p0.i64(ptr %{name}.data, i8 0, i64 %n, i1 false)")
    lines += [
        "  br label %mark",
        "mark:",
        "  %j = phi i64 [0, %masks], [%j.next, %mark.body]",
        "  %j.left = icmp slt i64 %j, %count",
        "  br i1 %j.left, label %mark.body, label %give",
        "give:",
        "  ret ptr %tuple",
        "mark.body:",
        "  %j.at = getelementptr i64, ptr %places, i64 %j",
        "  %j.index = load i64, ptr %j.at",
    ]
    for name in masks:
        lines += [
            f"  %{name}.flag = getelementptr i8, ptr %{name}.data, i64 %j.index",
            f"  store i8 1, ptr %{name}.flag",
        ]
    return [*lines, "  %j.next = add i64 %j, 1", "  br label %mark"]
