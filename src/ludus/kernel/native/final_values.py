"""LLVM IR that creates the last observations of episodes: arrays, ints or tuples of ints."""

from __future__ import annotations

from typing import NamedTuple

from ludus.kernel.contract import Kernel
from ludus.kernel.layout import Layout
from ludus.kernel.native.abi import ARRAY, COUNT, TUPLE
from ludus.kernel.native.cpython import load, read, write

__all__ = [
    "TUPLE_BITS",
    "FinalForm",
    "count_none",
    "fill_source",
    "is_free",
    "likely_form",
    "put",
    "put_counted",
]

TUPLE_BITS = 12
"""Bits of the hash by which tuples are cached.

Blackjack has about 300 last observations. With 10 bits some of them shared a place and were made
anew in turn, a fifth of a step's time.
"""
_AS_COUNT = "add i64 {}, 0" if COUNT == "i64" else "trunc i64 {} to i32"
_FACTOR = 0x9E3779B97F4A7C15 - 2**64
"""Multiplier of the hash: an odd number near 2**64 divided by the golden ratio."""


class FinalForm(NamedTuple):
    """The types of an episode's last observation and infos.

    Attributes:
        kind: Type of an observation: ``"array"``, ``"int"`` or ``"tuple"`` of ints.
        size: Number of axes of the array, or of items of the tuple.
        infos: ``"float"``, ``"int"`` or ``"bool"`` for each info.
    """

    kind: str
    size: int
    infos: tuple[str, ...]


def likely_form(kernel: Kernel, rows: int, layout: Layout) -> FinalForm:
    """Return the form that a kernel's batches most likely have, without knowing the space.

    Args:
        kernel: The kernel.
        rows: How many numbers an observation has; 0 if it is an array.
        layout: The places of a storage's arrays.
    """
    axes = next(place.ndim for place in layout if place.name == "both")
    infos = tuple(field.kind for field in kernel.info_fields)
    if not rows:
        return FinalForm("array", axes - 2, infos)
    if axes == 3:
        return FinalForm("tuple", rows, infos)
    return FinalForm("int" if kernel.observes_one_number else "array", 1, infos)


def is_free(name: str, like: str, axes: int, sizes: list[str]) -> list[str]:
    """Return the lines that go to ``{name}.fit`` if an array can be reused, else ``{name}.unfit``.

    It can if it has one reference and no weak ones, and its dtype, flags, shape and strides are
    those of ``like``. The object must be an array.
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


def put(name: str, value: str) -> list[str]:
    """Return the lines that replace the object in ``%{name}.place``.

    They end with the label ``{name}.done``.
    """
    return [*_count_one(name, value), *put_counted(name, value)]


def put_counted(name: str, value: str) -> list[str]:
    """Return the lines of :func:`put` for an object whose reference has been counted."""
    return [
        f"  %{name}.old = load ptr, ptr %{name}.place",
        f"  store ptr {value}, ptr %{name}.place",
        f"  %{name}.old_count = load {COUNT}, ptr %{name}.old",
        f"  %{name}.is_last = icmp eq {COUNT} %{name}.old_count, 1",
        f"  br i1 %{name}.is_last, label %{name}.last, label %{name}.others",
        f"{name}.last:",
        f"  call void @Py_DecRef(ptr %{name}.old)",
        f"  br label %{name}.done",
        f"{name}.others:",
        *_count_by("sub", f"{name}.old", f"%{name}.old"),
        f"  br label %{name}.done",
        f"{name}.done:",
    ]


def _count_one(name: str, value: str) -> list[str]:
    """Return the lines that increment a reference count."""
    return [
        f"  %{name}.new_count = load {COUNT}, ptr {value}",
        *_count_by("add", f"{name}.new", value),
    ]


def _count_by(change: str, name: str, value: str) -> list[str]:
    """Return the lines that change the reference count ``%{name}_count``, unless immortal."""
    return [
        f"  %{name}_immortal = icmp slt {COUNT} %{name}_count, 0",
        f"  %{name}_one = select i1 %{name}_immortal, {COUNT} 0, {COUNT} 1",
        f"  %{name}_sum = {change} {COUNT} %{name}_count, %{name}_one",
        f"  store {COUNT} %{name}_sum, ptr {value}",
    ]


def count_none(change: str, name: str, times: str) -> list[str]:
    """Return the lines that change the reference count of ``None``, unless it is immortal."""
    return [
        f"  %{name}.count = load {COUNT}, ptr @_Py_NoneStruct",
        f"  %{name}.immortal = icmp slt {COUNT} %{name}.count, 0",
        f"  %{name}.number = select i1 %{name}.immortal, i64 0, i64 {times}",
        f"  %{name}.more = {_AS_COUNT.format(f'%{name}.number')}",
        f"  %{name}.sum = {change} {COUNT} %{name}.count, %{name}.more",
        f"  store {COUNT} %{name}.sum, ptr @_Py_NoneStruct",
    ]


def fill_source(form: FinalForm) -> list[str]:
    """Return the loop that stores the observation of each finished environment.

    It begins with the label ``each``, entered from ``wipe``, and continues at ``end``. All elements
    are ``None`` before.
    """
    made = {"array": _array, "int": _int, "tuple": _tuple}[form.kind](form.size)
    return [
        "each:",
        "  %k = phi i64 [0, %wipe], [%k.next, %placed]",
        "  store i64 %k, ptr %own",
        "  %left = icmp slt i64 %k, %count",
        "  br i1 %left, label %finished, label %all",
        "all:",
        *count_none("sub", "filled", "%count"),
        "  br label %end",
        "failed:",
        *count_none("sub", "failed", "%k"),
        "  call void @Py_DecRef(ptr %chosen)",
        "  ret ptr null",
        "finished:",
        *read("i", "i64", "%listed.data", "%k"),
        *write("i.to", "i64", "%places", "%k", "%i"),
        "  %fill.place = getelementptr ptr, ptr %objects, i64 %i",
        *made,
        "  br label %placed",
        "placed:",
        "  %k.next = add i64 %k, 1",
        "  br label %each",
    ]


def _fill(value: str) -> list[str]:
    """Return the lines that replace ``None`` by an object."""
    return [
        *_count_one("fill", value),
        f"  store ptr {value}, ptr %fill.place",
    ]


def _array(axes: int) -> list[str]:
    """Return the lines that fill the environment's array, or a new one if it is in use."""
    made = "ptr @ludus.ndarray, ptr %like_descr, i32 %like_nd, ptr %like_dims"
    return [
        *read("episode", "ptr", "%episodes.data", "%i"),
        "  %is_array = icmp ne ptr %episode, @_Py_NoneStruct",
        "  br i1 %is_array, label %check, label %episode.unfit",
        "check:",
        *is_free("episode", "%pattern.array", axes, []),
        "episode.unfit:",
        *load("like_descr", "%pattern.array", ARRAY["descr"]),
        *load("like_nd", "%pattern.array", ARRAY["nd"], "i32"),
        *load("like_dims", "%pattern.array", ARRAY["dims"]),
        # The new array steals a reference.
        "  call void @Py_IncRef(ptr %like_descr)",
        f"  %fresh = call ptr @ludus.new_array({made}, ptr null, ptr null, i32 0, ptr null)",
        "  %got = icmp ne ptr %fresh, null",
        "  br i1 %got, label %keep, label %failed",
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
        *_fill("%array"),
    ]


def _int(_size: int) -> list[str]:
    """Return the lines that create an int."""
    return [
        "  %from = getelementptr i64, ptr %last.data, i64 %i",
        "  %held = load i64, ptr %from",
        "  %whole = call ptr @PyLong_FromLongLong(i64 %held)",
        "  %whole.got = icmp ne ptr %whole, null",
        "  br i1 %whole.got, label %give_whole, label %failed",
        "give_whole:",
        # It is a new reference.
        "  store ptr %whole, ptr %fill.place",
    ]


def _tuple(size: int) -> list[str]:
    """Return the lines that find or create a tuple of ints, each from its own row.

    Tuples are cached by the hash of their numbers, because small games have few different ones.
    """
    lines, found, mixed = [], "true", "0"
    for k in range(size):
        lines += [
            f"  %skip{k} = mul i64 %size, {k}",
            f"  %row_of{k} = getelementptr i8, ptr %last.data, i64 %skip{k}",
            f"  %from{k} = getelementptr i64, ptr %row_of{k}, i64 %i",
            f"  %whole{k} = load i64, ptr %from{k}",
            f"  %mixed{k} = add i64 {mixed}, %whole{k}",
            f"  %hash{k} = mul i64 %mixed{k}, {_FACTOR}",
        ]
        mixed = f"%hash{k}"
    lines += [
        f"  %slot = lshr i64 {mixed}, {64 - TUPLE_BITS}",
        f"  %keys.skip = mul i64 %slot, {size}",
        "  %keys = getelementptr i64, ptr %pattern.data, i64 %keys.skip",
        "  %tuple.at = getelementptr ptr, ptr %episodes.data, i64 %slot",
        "  %before = load ptr, ptr %tuple.at",
        "  %exists = icmp ne ptr %before, @_Py_NoneStruct",
    ]
    found = "%exists"
    for k in range(size):
        lines += [
            *read(f"key{k}", "i64", "%keys", str(k)),
            f"  %same{k} = icmp eq i64 %key{k}, %whole{k}",
            f"  %found{k} = and i1 {found}, %same{k}",
        ]
        found = f"%found{k}"
    return [
        *lines,
        f"  br i1 {found}, label %known, label %unknown",
        "unknown:",
        *_new_tuple(size),
        "  store ptr %several, ptr %tuple.at",
        *(f"  store i64 %whole{k}, ptr %key{k}.at" for k in range(size)),
        "  call void @Py_DecRef(ptr %before)",
        "  br label %known",
        "known:",
        "  %observed = phi ptr [%before, %finished], [%several, %give_several]",
        *_fill("%observed"),
    ]


def _new_tuple(size: int) -> list[str]:
    lines = [
        f"  %several = call ptr @PyTuple_New(i64 {size})",
        "  %several.got = icmp ne ptr %several, null",
        "  br i1 %several.got, label %several.begin, label %failed",
        "several.begin:",
    ]
    so_far = "true"
    for k in range(size):
        lines += [
            f"  %number{k} = call ptr @PyLong_FromLongLong(i64 %whole{k})",
            f"  %several{k} = getelementptr i8, ptr %several, i64 {TUPLE + 8 * k}",
            f"  store ptr %number{k}, ptr %several{k}",
            f"  %number{k}.got = icmp ne ptr %number{k}, null",
            f"  %several{k}.got = and i1 {so_far}, %number{k}.got",
        ]
        so_far = f"%several{k}.got"
    return [
        *lines,
        f"  br i1 {so_far}, label %give_several, label %no_several",
        "no_several:",
        "  call void @Py_DecRef(ptr %several)",
        "  br label %failed",
        "give_several:",
    ]
