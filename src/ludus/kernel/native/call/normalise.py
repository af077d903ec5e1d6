"""Running mean and variance of batches of observations, and their normalisation, in native code.

In NumPy, broadcasting one short row over many takes longer than the step of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ludus.kernel.native.cpython import (
    builtin_function,
    read,
    read_arguments,
    with_declarations,
    write,
)

__all__ = ["LARGEST", "Normaliser", "normaliser", "normalising_source"]

LARGEST = 16
"""Largest number of numbers per observation; NumPy is fast for longer ones."""
_LANES = 8
_D, _F = f"<{_LANES} x double>", f"<{_LANES} x float>"

Statistics = tuple[Any, Any]
"""Mean and variance, float32 arrays with one element per number of an observation."""


class Normaliser:
    """Normalises batches of observations of float32.

    Args:
        size: How many numbers an observation has.
    """

    def __init__(self, size: int) -> None:
        from ludus.kernel.native.calls import shim_address

        self._size = size
        address = shim_address(normalising_source(size), {})
        self._run: Callable[..., int] = builtin_function("normalise", address)

    def fits(self, observations: Any) -> bool:
        """Return whether this supports the observations."""
        return (
            type(observations) is np.ndarray
            and observations.dtype == np.float32
            and observations.ndim == 2
            and observations.shape[1] == self._size
            and len(observations) > 0
            and observations.flags.c_contiguous
            and observations.flags.aligned
        )

    def __call__(
        self, observations: Any, statistics: Statistics, count: float | None, epsilon: float
    ) -> tuple[Any, Statistics]:
        """Return the normalised observations and the new mean and variance.

        Args:
            observations: A batch for which :meth:`fits` is true.
            statistics: Mean and variance so far; the arrays are not changed.
            count: How many observations they include; ``None`` does not update them.
            epsilon: Added to the variance before its root is taken.
        """
        mean, var = (np.ascontiguousarray(part, np.float32) for part in statistics)
        out = np.empty(observations.shape, np.float32)
        n = len(observations)
        if count is None:
            self._run(observations, mean, var, mean, var, out, n, 0, 0.0, epsilon)
            return out, statistics
        after = np.empty(self._size, np.float32), np.empty(self._size, np.float32)
        self._run(observations, mean, var, *after, out, n, 1, count, epsilon)
        return out, after


@cache
def normaliser(size: int) -> Normaliser:
    """Return the normaliser for observations of ``size`` numbers."""
    return Normaliser(size)


def normalising_source(size: int) -> str:
    """Return the LLVM IR of ``shim``, the function of a :class:`Normaliser`.

    Its arguments are arrays (the observations, mean and variance before and after, the result), the
    number of observations, whether to update, the count and epsilon. Sums are taken in double
    precision, of differences to the first observation.
    """
    wide = size * _LANES
    return with_declarations(
        [
            "declare float @llvm.sqrt.f32(float)",
            *read_arguments("aaaaaaiiff"),
            f"  %sums = alloca [{size} x double]",
            f"  %squares = alloca [{size} x double]",
            f"  %wide_sums = alloca [{wide} x double]",
            f"  %wide_squares = alloca [{wide} x double]",
            f"  %wide_a = alloca [{wide} x float]",
            f"  %wide_b = alloca [{wide} x float]",
            f"  %total = mul i64 %value6, {size}",
            f"  %odd = urem i64 %value6, {_LANES}",
            "  %even = sub i64 %value6, %odd",
            f"  %whole = mul i64 %even, {size}",
            "  %updates = icmp ne i64 %value7, 0",
            "  br i1 %updates, label %shift, label %scale",
            *_sum_up(size),
            *_combine(size),
            *_apply(size),
            "  %answer = call ptr @PyLong_FromLongLong(i64 0)",
            "  ret ptr %answer",
            "}",
        ]
    )


def _loop(name: str, before: str, after: str, first: str, last: str, body: list[str]) -> list[str]:
    """Return a loop over ``%{name}.i``, entered from the block ``before``, left to ``after``."""
    return [
        f"  br label %{name}",
        f"{name}:",
        f"  %{name}.i = phi i64 [{first}, %{before}], [%{name}.next, %{name}.body]",
        f"  %{name}.more = icmp slt i64 %{name}.i, {last}",
        f"  br i1 %{name}.more, label %{name}.body, label %{after}",
        f"{name}.body:",
        *body,
        f"  %{name}.next = add i64 %{name}.i, 1",
        f"  br label %{name}",
        f"{after}:",
    ]


def _read(name: str, kind: str, base: str, index: str) -> list[str]:
    return read(name, kind, base, index, align=4)


def _write(name: str, kind: str, base: str, index: str, value: str) -> list[str]:
    return write(f"{name}.to", kind, base, index, value, align=4)


def _sum_up(size: int) -> list[str]:
    """Return the lines that sum the differences to the first observation, and their squares."""
    lines = ["shift:"]
    # The first observation, repeated for each row of a block.
    body = [
        f"  %spread.column = urem i64 %spread.i, {size}",
        *_read("spread.x", "float", "%value0", "%spread.column"),
        *_write("spread", "float", "%wide_a", "%spread.i", "%spread.x"),
    ]
    lines += _loop("spread", "shift", "sum", "0", str(size * _LANES), body)
    for v in range(size):
        lines += [
            f"  %first{v}.at = getelementptr float, ptr %wide_a, i64 {v * _LANES}",
            f"  %first{v}.held = load {_F}, ptr %first{v}.at, align 4",
            f"  %first{v} = fpext {_F} %first{v}.held to {_D}",
        ]
    lines += ["  br label %blocks", "blocks:"]
    lines.append("  %at = phi i64 [0, %sum], [%at.next, %block]")
    for v in range(size):
        for name in (f"%s{v}", f"%q{v}"):
            lines.append(f"  {name} = phi {_D} [zeroinitializer, %sum], [{name}.next, %block]")
    lines += [
        "  %more = icmp slt i64 %at, %whole",
        "  br i1 %more, label %block, label %summed",
        "block:",
    ]
    for v in range(size):
        lines += [
            f"  %x{v}.index = add i64 %at, {v * _LANES}",
            f"  %x{v}.at = getelementptr float, ptr %value0, i64 %x{v}.index",
            f"  %x{v}.held = load {_F}, ptr %x{v}.at, align 4",
            f"  %x{v} = fpext {_F} %x{v}.held to {_D}",
            f"  %d{v} = fsub {_D} %x{v}, %first{v}",
            f"  %s{v}.next = fadd {_D} %s{v}, %d{v}",
            f"  %dd{v} = fmul {_D} %d{v}, %d{v}",
            f"  %q{v}.next = fadd {_D} %q{v}, %dd{v}",
        ]
    lines += [f"  %at.next = add i64 %at, {size * _LANES}", "  br label %blocks", "summed:"]
    for v in range(size):
        for sum_name, place in (("s", "%wide_sums"), ("q", "%wide_squares")):
            lines += [
                f"  %{sum_name}{v}.at = getelementptr double, ptr {place}, i64 {v * _LANES}",
                f"  store {_D} %{sum_name}{v}, ptr %{sum_name}{v}.at, align 8",
            ]
    for k in range(size):
        lines += _write(f"zero_s{k}", "double", "%sums", str(k), "0.0")
        lines += _write(f"zero_q{k}", "double", "%squares", str(k), "0.0")
    return lines


def _add_to(name: str, size: int, value: list[str]) -> list[str]:
    """Return the lines that add ``%{name}.s`` and ``%{name}.q`` to a column's sums."""
    lines = [f"  %{name}.column = urem i64 %{name}.i, {size}", *value]
    for letter, place in (("s", "%sums"), ("q", "%squares")):
        lines += _read(f"{name}.{letter}_old", "double", place, f"%{name}.column")
        lines.append(f"  %{name}.{letter}_new = fadd double %{name}.{letter}_old, %{name}.{letter}")
        lines += _write(
            f"{name}.{letter}", "double", place, f"%{name}.column", f"%{name}.{letter}_new"
        )
    return lines


def _combine(size: int) -> list[str]:
    """Return the lines that finish the sums and combine them with the previous statistics."""
    lanes = _add_to(
        "lane",
        size,
        [
            *_read("lane.s", "double", "%wide_sums", "%lane.i"),
            *_read("lane.q", "double", "%wide_squares", "%lane.i"),
        ],
    )
    rest = _add_to(
        "rest",
        size,
        [
            *_read("rest.x", "float", "%value0", "%rest.i"),
            *_read("rest.first", "float", "%value0", "%rest.column"),
            "  %rest.wide = fpext float %rest.x to double",
            "  %rest.wide_first = fpext float %rest.first to double",
            "  %rest.s = fsub double %rest.wide, %rest.wide_first",
            "  %rest.q = fmul double %rest.s, %rest.s",
        ],
    )
    return [
        *_loop("lane", "summed", "lanes_done", "0", str(size * _LANES), lanes),
        *_loop("rest", "lanes_done", "rest_done", "%whole", "%total", rest),
        "  %n = sitofp i64 %value6 to double",
        "  %count = fadd double %value8, %n",
        "  %share = fdiv double %n, %count",
        *_loop("join", "rest_done", "joined", "0", str(size), _join_column()),
        "  br label %scale",
    ]


def _join_column() -> list[str]:
    """Return the lines that combine one column's sums with its previous statistics."""
    return [
        *_read("join.s", "double", "%sums", "%join.i"),
        *_read("join.q", "double", "%squares", "%join.i"),
        *_read("join.first_f", "float", "%value0", "%join.i"),
        *_read("join.mean_f", "float", "%value1", "%join.i"),
        *_read("join.var_f", "float", "%value2", "%join.i"),
        "  %join.first = fpext float %join.first_f to double",
        "  %join.mean = fpext float %join.mean_f to double",
        "  %join.var = fpext float %join.var_f to double",
        "  %join.off = fdiv double %join.s, %n",
        "  %join.off2 = fmul double %join.off, %join.off",
        "  %join.q_mean = fdiv double %join.q, %n",
        "  %join.batch_var = fsub double %join.q_mean, %join.off2",
        "  %join.batch_mean = fadd double %join.first, %join.off",
        "  %join.shift = fsub double %join.batch_mean, %join.mean",
        # The parallel algorithm of Chan, as in running_statistics.py.
        "  %join.part = fmul double %join.shift, %share",
        "  %join.new_mean = fadd double %join.mean, %join.part",
        "  %join.m_a = fmul double %join.var, %value8",
        "  %join.m_b = fmul double %join.batch_var, %n",
        "  %join.shift2 = fmul double %join.shift, %join.shift",
        "  %join.weighted = fmul double %join.shift2, %value8",
        "  %join.m_c = fmul double %join.weighted, %share",
        "  %join.m_ab = fadd double %join.m_a, %join.m_b",
        "  %join.m = fadd double %join.m_ab, %join.m_c",
        "  %join.new_var = fdiv double %join.m, %count",
        "  %join.mean_out = fptrunc double %join.new_mean to float",
        "  %join.var_out = fptrunc double %join.new_var to float",
        *_write("join.mean_out", "float", "%value3", "%join.i", "%join.mean_out"),
        *_write("join.var_out", "float", "%value4", "%join.i", "%join.var_out"),
    ]


def _apply(size: int) -> list[str]:
    """Return the lines that normalise by the statistics after the update."""
    tile = [
        f"  %tile.column = urem i64 %tile.i, {size}",
        *_read("tile.mean", "float", "%value3", "%tile.column"),
        *_read("tile.var", "float", "%value4", "%tile.column"),
        "  %tile.padded = fadd float %tile.var, %small",
        "  %tile.root = call float @llvm.sqrt.f32(float %tile.padded)",
        *_write("tile.a", "float", "%wide_a", "%tile.i", "%tile.mean"),
        *_write("tile.b", "float", "%wide_b", "%tile.i", "%tile.root"),
    ]
    body = [f"  %block_at = mul i64 %each.i, {size * _LANES}"]
    for v in range(size):
        body += [
            f"  %y{v}.index = add i64 %block_at, {v * _LANES}",
            f"  %y{v}.at = getelementptr float, ptr %value0, i64 %y{v}.index",
            f"  %y{v} = load {_F}, ptr %y{v}.at, align 4",
            f"  %y{v}.centred = fsub {_F} %y{v}, %a{v}",
            f"  %y{v}.scaled = fdiv {_F} %y{v}.centred, %b{v}",
            f"  %y{v}.to = getelementptr float, ptr %value5, i64 %y{v}.index",
            f"  store {_F} %y{v}.scaled, ptr %y{v}.to, align 4",
        ]
    rest = [
        f"  %last.column = urem i64 %last.i, {size}",
        *_read("last.x", "float", "%value0", "%last.i"),
        *_read("last.mean", "float", "%wide_a", "%last.column"),
        *_read("last.root", "float", "%wide_b", "%last.column"),
        "  %last.centred = fsub float %last.x, %last.mean",
        "  %last.scaled = fdiv float %last.centred, %last.root",
        *_write("last", "float", "%value5", "%last.i", "%last.scaled"),
    ]
    loads = []
    for v in range(size):
        for letter in "ab":
            loads += [
                f"  %{letter}{v}.at = getelementptr float, ptr %wide_{letter}, i64 {v * _LANES}",
                f"  %{letter}{v} = load {_F}, ptr %{letter}{v}.at, align 4",
            ]
    return [
        "scale:",
        "  %small = fptrunc double %value9 to float",
        *_loop("tile", "scale", "tiled", "0", str(size * _LANES), tile),
        f"  %block_count = udiv i64 %value6, {_LANES}",
        *loads,
        *_loop("each", "tiled", "each_done", "0", "%block_count", body),
        *_loop("last", "each_done", "done", "%whole", "%total", rest),
    ]
