"""Returns, lengths and durations of a batch's episodes, counted in one native call per step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ludus.kernel.native.abi import ALIGNED, ARRAY, CONTIGUOUS, WRITABLE
from ludus.kernel.native.cpython import (
    builtin_function,
    load,
    read,
    read_arguments,
    with_declarations,
    write,
)

__all__ = ["EpisodeCounter", "counting_source"]

# Adding and subtracting it rounds a double below 2**51 to an integer, ties to even.
_ROUNDS = "0x4338000000000000"
_MILLION = "1.0e6"
# Dtypes of the arrays from the caller.
_DTYPES = ("float64", "bool", "bool", "bool", "float64", "int64", "float64")
_CHANGED = (4, 5, 6)


Statistics = tuple[Any, Any, Any]
"""Returns, lengths and seconds."""


class EpisodeCounter:
    """Counts the episodes of ``n`` environments.

    Args:
        n: How many environments.
        same_step: Whether finished environments start again within the step.
    """

    def __init__(self, n: int, *, same_step: bool) -> None:
        self._n, self._same_step = n, int(same_step)
        self._room = np.empty((3, n))
        self._in_turn = np.empty((3, n + 1))
        self._run = _counting_function()

    def __call__(
        self, results: tuple[Any, Any, Any], over_before: Any, sums: Statistics, now: float
    ) -> tuple[Any, Statistics | None, Statistics | None] | None:
        """Count a step.

        Args:
            results: Rewards, terminations and truncations.
            over_before: Mask of the environments whose episodes ended in the last step; unless
                ``same_step``, they are reset in this one.
            sums: Returns, lengths and start times, which are updated.
            now: The current time.

        Returns:
            The mask of the environments whose episodes ended; their statistics with zeros for the
            other environments, and without those (both ``None`` if no episode ended). ``None`` if
            nothing was counted because an array is not contiguous with ``n`` numbers of the right
            dtype: float64 for rewards, returns and times, int64 for lengths, bool for the others.
        """
        n, room = self._n, self._room
        over = np.empty(n, np.bool_)
        given = (*results, over_before, *sums, over, room, self._in_turn)
        count = self._run(*given, n, self._same_step, now)
        if count <= 0:
            return (over, None, None) if count == 0 else None
        self._room = np.empty((3, n))
        at_place = (room[0], room[1].view(np.int64), room[2])
        found = self._in_turn[:, :count].copy()
        return over, at_place, (found[0], found[1].view(np.int64), found[2])


@cache
def _counting_function() -> Callable[..., int]:
    from ludus.kernel.native.calls import shim_address

    dtypes = {f"ludus.{dtype}": id(np.dtype(dtype)) for dtype in set(_DTYPES)}
    address = shim_address(counting_source(), {"ludus.ndarray": id(np.ndarray), **dtypes})
    return builtin_function("count", address)


def counting_source() -> str:
    """Return the LLVM IR of ``shim``, which counts a step's episodes.

    Its arguments are ten arrays: rewards, terminations, truncations, the mask of episodes that
    ended before, returns, lengths, start times, and outputs: the mask of episodes that end now,
    three rows of ``n`` numbers and three of ``n + 1``; then ``n``, whether environments are reset
    within the step, and the time. It returns how many episodes ended, -1 if one of the first seven
    arrays is not supported.
    """
    return with_declarations(
        [
            *read_arguments("ooooooo" + "aaaiif"),
            *_check_arrays(),
            "  %at_once = icmp ne i64 %value11, 0",
            "  %n2 = mul i64 %value10, 2",
            "  %turn1 = add i64 %value10, 1",
            "  %turn2 = mul i64 %turn1, 2",
            "  br label %each",
            "each:",
            "  %i = phi i64 [0, %begin], [%next, %placed]",
            "  %m = phi i64 [0, %begin], [%m_next, %placed]",
            "  %left = icmp slt i64 %i, %value10",
            "  br i1 %left, label %one, label %end",
            "end:",
            "  %answer = call ptr @PyLong_FromLongLong(i64 %m)",
            "  ret ptr %answer",
            "one:",
            *_count_one(),
            *_write_statistics(),
            "placed:",
            "  %m_next = phi i64 [%m, %running], [%one_more, %finished]",
            "  %sum5 = phi double [%sum2, %running], [%sum4, %finished]",
            "  %length5 = phi i64 [%length2, %running], [%length4, %finished]",
            "  %start5 = phi double [%start2, %running], [%start4, %finished]",
            "  store double %sum5, ptr %sum.at",
            "  store i64 %length5, ptr %length.at",
            "  store double %start5, ptr %start.at",
            "  %next = add i64 %i, 1",
            "  br label %each",
            "}",
        ]
    )


def _count_one() -> list[str]:
    """Return the lines that add one environment's step to its sums."""
    return [
        *read("reward", "double", "%data0", "%i"),
        *read("ended", "i8", "%data1", "%i"),
        *read("cut", "i8", "%data2", "%i"),
        *read("before", "i8", "%data3", "%i"),
        *read("sum", "double", "%data4", "%i"),
        *read("length", "i64", "%data5", "%i"),
        *read("start", "double", "%data6", "%i"),
        "  %ran = icmp eq i8 %before, 0",
        "  %counts = or i1 %ran, %at_once",
        "  %sum1 = fadd double %sum, %reward",
        "  %length1 = add i64 %length, 1",
        "  %sum2 = select i1 %counts, double %sum1, double 0.0",
        "  %length2 = select i1 %counts, i64 %length1, i64 0",
        "  %start2 = select i1 %counts, double %start, double %value12",
        "  %done = or i8 %ended, %cut",
        *write("over.to", "i8", "%value7", "%i", "%done"),
        "  %i1 = add i64 %value10, %i",
        "  %i2 = add i64 %n2, %i",
        "  %is_over = icmp ne i8 %done, 0",
        "  br i1 %is_over, label %finished, label %running",
    ]


def _write_statistics() -> list[str]:
    """Return the lines that write an episode's statistics, zeros while it is running."""
    return [
        "running:",
        *write("running.a.to", "double", "%value8", "%i", "0.0"),
        *write("running.b.to", "i64", "%value8", "%i1", "0"),
        *write("running.c.to", "double", "%value8", "%i2", "0.0"),
        "  br label %placed",
        "finished:",
        "  %took = fsub double %value12, %start2",
        f"  %took1 = fmul double %took, {_MILLION}",
        f"  %took2 = fadd double %took1, {_ROUNDS}",
        f"  %took3 = fsub double %took2, {_ROUNDS}",
        f"  %seconds = fdiv double %took3, {_MILLION}",
        *write("finished.a.to", "double", "%value8", "%i", "%sum2"),
        *write("finished.b.to", "i64", "%value8", "%i1", "%length2"),
        *write("finished.c.to", "double", "%value8", "%i2", "%seconds"),
        "  %m1 = add i64 %turn1, %m",
        "  %m2 = add i64 %turn2, %m",
        *write("turn.a.to", "double", "%value9", "%m", "%sum2"),
        *write("turn.b.to", "i64", "%value9", "%m1", "%length2"),
        *write("turn.c.to", "double", "%value9", "%m2", "%seconds"),
        "  %one_more = add i64 %m, 1",
        "  %sum4 = select i1 %at_once, double 0.0, double %sum2",
        "  %length4 = select i1 %at_once, i64 0, i64 %length2",
        "  %start4 = select i1 %at_once, double %value12, double %start2",
        "  br label %placed",
    ]


def _check_arrays() -> list[str]:
    """Return the lines that continue at ``begin`` if the arrays are supported."""
    lines = []
    for k, dtype in enumerate(_DTYPES):
        wanted = CONTIGUOUS | ALIGNED | (WRITABLE if k in _CHANGED else 0)
        lines += [
            *load(f"type{k}", f"%value{k}", 8),
            f"  %is_array{k} = icmp eq ptr %type{k}, @ludus.ndarray",
            f"  br i1 %is_array{k}, label %array{k}, label %unfit",
            f"array{k}:",
            *load(f"descr{k}", f"%value{k}", ARRAY["descr"]),
            *load(f"flags{k}", f"%value{k}", ARRAY["flags"], "i32"),
            *load(f"axes{k}", f"%value{k}", ARRAY["nd"], "i32"),
            f"  %has_dtype{k} = icmp eq ptr %descr{k}, @ludus.{dtype}",
            f"  %has_axis{k} = icmp eq i32 %axes{k}, 1",
            f"  %order{k} = and i32 %flags{k}, {wanted}",
            f"  %in_order{k} = icmp eq i32 %order{k}, {wanted}",
            f"  %fits{k}.a = and i1 %has_dtype{k}, %has_axis{k}",
            f"  %fits{k}.b = and i1 %fits{k}.a, %in_order{k}",
            f"  br i1 %fits{k}.b, label %measure{k}, label %unfit",
            f"measure{k}:",
            *load(f"dims{k}", f"%value{k}", ARRAY["dims"]),
            *load(f"data{k}", f"%value{k}", ARRAY["data"]),
            f"  %length{k}.held = load i64, ptr %dims{k}",
            f"  %as_long{k} = icmp eq i64 %length{k}.held, %value10",
            f"  br i1 %as_long{k}, label %fit{k}, label %unfit",
            f"fit{k}:",
        ]
    return [
        *lines,
        "  br label %begin",
        "unfit:",
        "  %refusal = call ptr @PyLong_FromLongLong(i64 -1)",
        "  ret ptr %refusal",
        "begin:",
    ]
