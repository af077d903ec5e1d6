"""A step and the contact forces after it, as one function that the engine runs on a simulation.

The engine computes these forces only when asked, from contacts that are gone once a batch's call is
over, unless each simulation keeps memory of its own. One function for both does without: all
simulations of a thread share its memory, which stays in the processor's cache.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from ludus.kernel.native.calls import shim_address
from ludus.kernel.native.cpython import with_declarations

__all__ = ["Order", "step_address"]


class Order:
    """What the function is told: how many steps to make, and which fields to copy where.

    Args:
        data: Data of the engine, of the batch's model.
        fields: For each field the array that takes it, simulations first.
    """

    def __init__(self, data: Any, fields: dict[str, np.ndarray[Any, Any]]) -> None:
        words = [0, len(fields)]
        for name, array in fields.items():
            words += (_offset(data, name), array.ctypes.data, array[0].nbytes)
        self._words, self._times = np.array(words, np.int64), 0
        self.address: int = self._words.ctypes.data

    def set_times(self, times: int) -> None:
        """Say how many steps to make."""
        if times != self._times:
            self._times = self._words[0] = times


def _offset(data: Any, name: str) -> int:
    """Return where in the engine's data the pointer to a field is."""
    wanted, at = getattr(data, name).ctypes.data, 0
    words = ctypes.cast(data._address, ctypes.POINTER(ctypes.c_uint64))
    while words[at] != wanted:
        at += 1
    # Pointers to empty fields, which have the address of the next one that is not, come first.
    while words[at + 1] == wanted:
        at += 1
    return 8 * at


@cache
def step_address(step: int, forces: int) -> int:
    """Return the address of the function, given those of two of the engine's functions."""
    return shim_address(_source(), {"mj_step": step, "mj_rnePostConstraint": forces})


def _source() -> str:
    """Return ``shim(model, data, number, order)`` in LLVM's language."""
    return with_declarations(
        [
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "define void @shim(ptr %model, ptr %data, i32 %number, ptr %order) {",
            "start:",
            "  %times = load i64, ptr %order",
            "  %count.at = getelementptr i64, ptr %order, i64 1",
            "  %count = load i64, ptr %count.at",
            "  %before = sext i32 %number to i64",
            "  br label %step",
            "step:",
            "  %left = phi i64 [ %times, %start ], [ %fewer, %step ]",
            "  call void @mj_step(ptr %model, ptr %data)",
            "  %fewer = sub i64 %left, 1",
            "  %more = icmp sgt i64 %fewer, 0",
            "  br i1 %more, label %step, label %forces",
            "forces:",
            "  call void @mj_rnePostConstraint(ptr %model, ptr %data)",
            "  %fields = getelementptr i64, ptr %order, i64 2",
            "  br label %copy",
            "copy:",
            "  %copied = phi i64 [ 0, %forces ], [ %next, %copy ]",
            "  %field = phi ptr [ %fields, %forces ], [ %field.next, %copy ]",
            "  %to.at = getelementptr i64, ptr %field, i64 1",
            "  %size.at = getelementptr i64, ptr %field, i64 2",
            "  %field.next = getelementptr i64, ptr %field, i64 3",
            "  %offset = load i64, ptr %field",
            "  %to = load ptr, ptr %to.at",
            "  %size = load i64, ptr %size.at",
            "  %pointer = getelementptr i8, ptr %data, i64 %offset",
            "  %from = load ptr, ptr %pointer",
            "  %past = mul i64 %before, %size",
            "  %place = getelementptr i8, ptr %to, i64 %past",
            "  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %from, i64 %size, i1 false)",
            "  %next = add i64 %copied, 1",
            "  %some = icmp slt i64 %next, %count",
            "  br i1 %some, label %copy, label %done",
            "done:",
            "  ret void",
            "}",
        ]
    )
