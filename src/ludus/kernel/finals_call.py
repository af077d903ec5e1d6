"""The last observations of finished episodes as an array of arrays, filled in native code.

Every step that ends episodes returns one such array with one small array per episode. Making and
freeing them would take longer than the step. So both are kept and used again, as soon as nobody else
has a reference to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.kernel.cpython import builtin_function, with_declarations
from ludus.kernel.object_fields import ARRAY, load, load_item
from ludus.kernel.step_call import new_array_address

__all__ = ["FinalObservations", "finals_source"]

_TURNS = 2
"""Arrays that take turns: a caller still has the last one while the next is filled."""


class FinalObservations:
    """Gives the last observations of finished episodes, each an array of its own.

    Args:
        last: The last observations of all environments, environments first, in C order.
    """

    def __init__(self, last: Any) -> None:
        from ludus.kernel.native import shim_address

        self._n = len(last)
        self._kept = np.full(_TURNS, None, dtype=object)
        self._turn = 0
        pattern = np.empty(last.shape[1:], last.dtype)
        # The arrays of episodes, one for each environment.
        episodes = np.full(self._n, None, dtype=object)
        # It holds the memory behind the address as well.
        owner = (self._kept, episodes, pattern, last.ctypes.data, self._n, pattern.nbytes, last)
        symbols = {"ludus.ndarray": id(np.ndarray), "ludus.new_array": new_array_address()}
        address = shim_address(finals_source(pattern.ndim), symbols)
        self._fill = builtin_function("finals", address, owner=owner, one=True)

    def __call__(self, over: Any) -> Any:
        """Return an array of objects: an observation where an episode is over, else ``None``.

        Args:
            over: Of each environment whether its episode is over; an array of bools in C order.
        """
        filled = self._fill(over)
        if filled is None:
            self._kept[self._turn] = np.full(self._n, None, dtype=object)
            self._turn = (self._turn + 1) % _TURNS
            filled = self._fill(over)
        return filled


def finals_source(axes: int) -> str:
    """Return ``shim(owner, over)`` as LLVM IR.

    It expects ``ludus.ndarray``, the type, and ``ludus.new_array``, NumPy's function that makes
    arrays. ``owner`` is a tuple: the arrays of objects that take turns, the environments' arrays, an
    array like one observation, the address of all last observations, the number of environments and
    the bytes of an observation.

    The result is one of the arrays that take turns, ``None`` if each of them is in use.

    Args:
        axes: How many axes an observation has.
    """
    return with_declarations(
        [
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "declare i64 @llvm.vector.reduce.or.v8i64(<8 x i64>)",
            "define ptr @shim(ptr %owner, ptr %over) {",
            *load_item("kept", 0),
            *load_item("episodes_object", 1),
            *load_item("pattern", 2),
            *load_item("last_object", 3),
            *load_item("n_object", 4),
            *load_item("size_object", 5),
            "  %last_at = call i64 @PyLong_AsLongLong(ptr %last_object)",
            "  %last = inttoptr i64 %last_at to ptr",
            "  %n = call i64 @PyLong_AsLongLong(ptr %n_object)",
            "  %size = call i64 @PyLong_AsLongLong(ptr %size_object)",
            *load("episodes", "%episodes_object", ARRAY["data"]),
            *load("flags", "%over", ARRAY["data"]),
            *load("turns", "%kept", ARRAY["data"]),
            *_find_free(),
            *_fill(axes),
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
            *load(name, "%turns", 8 * k),
            f"  %{name}.exists = icmp ne ptr %{name}, @_Py_NoneStruct",
            f"  br i1 %{name}.exists, label %{name}.look, label %{following}",
            f"{name}.look:",
            *_is_free(name, "%kept", 1, ["%n"]),
            f"{name}.unfit:",
            f"  br label %{following}",
            f"{name}.fit:",
            "  br label %found",
        ]
    found = ", ".join(f"[%slot{k}, %slot{k}.fit]" for k in range(_TURNS))
    return [
        *lines,
        f"turn{_TURNS}:",
        "  call void @Py_IncRef(ptr @_Py_NoneStruct)",
        "  ret ptr @_Py_NoneStruct",
        "found:",
        f"  %chosen = phi ptr {found}",
        *load("objects", "%chosen", ARRAY["data"]),
        "  call void @Py_IncRef(ptr %chosen)",
        "  br label %each",
    ]


def _skip_blank_eight() -> list[str]:
    """Return the lines that go to the next eight environments if these stay without an array."""
    return [
        "probe:",
        "  %within = and i64 %i, 7",
        "  %begins = icmp eq i64 %within, 0",
        "  %after = add i64 %i, 8",
        "  %has_eight = icmp sle i64 %after, %n",
        "  %can_skip = and i1 %begins, %has_eight",
        "  br i1 %can_skip, label %block, label %look",
        "block:",
        "  %eight_flags.at = getelementptr i8, ptr %flags, i64 %i",
        "  %eight_flags = load i64, ptr %eight_flags.at, align 1",
        "  %eight.at = getelementptr ptr, ptr %objects, i64 %i",
        "  %eight = load <8 x i64>, ptr %eight.at, align 8",
        "  %none = ptrtoint ptr @_Py_NoneStruct to i64",
        "  %one_none = insertelement <8 x i64> poison, i64 %none, i64 0",
        "  %nones = shufflevector <8 x i64> %one_none, <8 x i64> poison, <8 x i32> zeroinitializer",
        "  %unlike = xor <8 x i64> %eight, %nones",
        "  %any_unlike = call i64 @llvm.vector.reduce.or.v8i64(<8 x i64> %unlike)",
        "  %any = or i64 %any_unlike, %eight_flags",
        "  %stays = icmp eq i64 %any, 0",
        "  br i1 %stays, label %each, label %look",
    ]


def _fill(axes: int) -> list[str]:
    """Return the loop that puts each environment's array, or ``None``, in its place."""
    made = "ptr @ludus.ndarray, ptr %like_descr, i32 %like_nd, ptr %like_dims"
    return [
        "each:",
        "  %i = phi i64 [0, %found], [%next, %placed], [%after, %block]",
        "  %left = icmp slt i64 %i, %n",
        "  br i1 %left, label %probe, label %end",
        "end:",
        "  ret ptr %chosen",
        *_skip_blank_eight(),
        "look:",
        "  %place = getelementptr ptr, ptr %objects, i64 %i",
        "  %before = load ptr, ptr %place",
        "  %flag.at = getelementptr i8, ptr %flags, i64 %i",
        "  %flag = load i8, ptr %flag.at",
        "  %running = icmp eq i8 %flag, 0",
        "  br i1 %running, label %blank, label %finished",
        "blank:",
        "  %is_blank = icmp eq ptr %before, @_Py_NoneStruct",
        "  br i1 %is_blank, label %placed, label %put_none",
        "put_none:",
        "  br label %put",
        "finished:",
        # The turn's own reference to the environment's array must not count.
        "  store ptr @_Py_NoneStruct, ptr %place",
        "  call void @Py_IncRef(ptr @_Py_NoneStruct)",
        "  call void @Py_DecRef(ptr %before)",
        "  %episode.at = getelementptr ptr, ptr %episodes, i64 %i",
        "  %episode = load ptr, ptr %episode.at",
        "  %is_array = icmp ne ptr %episode, @_Py_NoneStruct",
        "  br i1 %is_array, label %check, label %episode.unfit",
        "check:",
        *_is_free("episode", "%pattern", axes, []),
        "episode.unfit:",
        *load("like_descr", "%pattern", ARRAY["descr"]),
        *load("like_nd", "%pattern", ARRAY["nd"], "i32"),
        *load("like_dims", "%pattern", ARRAY["dims"]),
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
        "  %from = getelementptr i8, ptr %last, i64 %skip",
        "  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)",
        "  br label %put",
        "put:",
        "  %value = phi ptr [@_Py_NoneStruct, %put_none], [%array, %episode.fit]",
        "  %held = load ptr, ptr %place",
        "  call void @Py_IncRef(ptr %value)",
        "  store ptr %value, ptr %place",
        "  call void @Py_DecRef(ptr %held)",
        "  br label %placed",
        "placed:",
        "  %next = add i64 %i, 1",
        "  br label %each",
    ]
