"""LLVM IR of a native call whose work several threads share in pieces."""

from __future__ import annotations

import platform

from ludus.kernel.driver import FAILED
from ludus.kernel.native.cpython import read_arguments, with_declarations

__all__ = ["shared_source"]

# The spin-wait hint of each processor: declaration and call.
_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "  call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "  call void @llvm.aarch64.hint(i32 1)"),
}


def shared_source() -> str:
    """Return the LLVM IR of ``shim(board, round, pieces, n, patience, table)``.

    It needs two functions of the type of ``ludus.native`` in :func:`shim_source`, with the
    arguments ``table, first, last``, of which the last two are the range of a piece: ``ludus.even``
    for rounds with an even number, ``ludus.odd`` for odd ones. ``board`` is the address of five
    64-bit numbers: a ticket (the round in its upper half, the next piece in the lower), the number
    of finished pieces, the sum of the results, the lowest of them, and the address of numba's
    record of an exception, or 0.

    With a ``patience`` of 0 it starts the round, processes pieces until none is left, waits for the
    other threads, and returns the lowest result if that is negative, else the sum. Otherwise it
    processes pieces of the current round, and returns 0 after polling ``patience`` times in vain.
    """
    return with_declarations(
        [
            _PAUSE.get(platform.machine(), ("", ""))[0],
            *read_arguments("iiiiii"),
            *_begin(),
            *_take_pieces(),
            *_wait(),
            *_end(),
            "}",
        ]
    )


def _begin() -> list[str]:
    """Return the lines that start a round, if ``patience`` is 0."""
    return [
        "  %ticket = inttoptr i64 %value0 to ptr",
        "  %done = getelementptr i64, ptr %ticket, i64 1",
        "  %sum = getelementptr i64, ptr %ticket, i64 2",
        "  %lowest = getelementptr i64, ptr %ticket, i64 3",
        "  %raised = getelementptr i64, ptr %ticket, i64 4",
        "  %leads = icmp eq i64 %value4, 0",
        "  %thread = call ptr @PyEval_SaveThread()",
        "  br i1 %leads, label %begin, label %look",
        "begin:",
        "  store i64 0, ptr %done",
        "  store i64 0, ptr %sum",
        "  store i64 0, ptr %lowest",
        "  store i64 0, ptr %raised",
        "  %opened = shl i64 %value1, 32",
        "  store atomic i64 %opened, ptr %ticket seq_cst, align 8",
        "  br label %look",
    ]


def _take_pieces() -> list[str]:
    """Return the lines that process pieces until none is left."""
    passed = "ptr %result, ptr %error, i64 %value5, i64 %first, i64 %last"
    return [
        "look:",
        "  %looks = phi i64 [0, %run], [0, %begin], [0, %take], [0, %count_it], [%more, %rest]",
        "  %seen = load atomic i64, ptr %ticket seq_cst, align 8",
        "  %piece = and i64 %seen, 4294967295",
        "  %left = icmp ult i64 %piece, %value2",
        "  br i1 %left, label %take, label %none",
        "take:",
        "  %next = add i64 %seen, 1",
        "  %swap = cmpxchg ptr %ticket, i64 %seen, i64 %next seq_cst seq_cst",
        "  %got = extractvalue { i64, i1 } %swap, 1",
        "  br i1 %got, label %took, label %look",
        "took:",
        "  %begun = mul i64 %value3, %piece",
        "  %ended = add i64 %begun, %value3",
        "  %first = udiv i64 %begun, %value2",
        "  %last = udiv i64 %ended, %value2",
        "  %kind = and i64 %seen, 4294967296",
        "  %even = icmp eq i64 %kind, 0",
        "  %function = select i1 %even, ptr @ludus.even, ptr @ludus.odd",
        f"  %status = call i32 %function({passed})",
        "  %good = icmp eq i32 %status, 0",
        "  %count = load i64, ptr %result",
        f"  %counted = select i1 %good, i64 %count, i64 {FAILED}",
        "  br i1 %good, label %count_it, label %note_it",
        "note_it:",
        "  %record = load i64, ptr %error",
        "  store atomic i64 %record, ptr %raised seq_cst, align 8",
        "  br label %count_it",
        "count_it:",
        "  %s = atomicrmw add ptr %sum, i64 %counted seq_cst",
        "  %l = atomicrmw min ptr %lowest, i64 %counted seq_cst",
        "  %d = atomicrmw add ptr %done, i64 1 seq_cst",
        "  br label %look",
    ]


def _wait() -> list[str]:
    """Return the lines that wait for the other threads, or for the next round."""
    pause = _PAUSE.get(platform.machine(), ("", ""))[1]
    return [
        "none:",
        "  %finished = load atomic i64, ptr %done seq_cst, align 8",
        "  %all = icmp uge i64 %finished, %value2",
        "  %over = and i1 %leads, %all",
        "  br i1 %over, label %answer, label %linger",
        "linger:",
        "  %more = add i64 %looks, 1",
        "  %tired = icmp uge i64 %more, %value4",
        "  %follows = xor i1 %leads, true",
        "  %leaves = and i1 %follows, %tired",
        "  br i1 %leaves, label %leave, label %stay",
        "stay:",
        pause,
        "  %low = and i64 %more, 1023",
        "  %long = icmp eq i64 %low, 0",
        "  br i1 %long, label %yield, label %rest",
        "yield:",
        "  %y = call i32 @sched_yield()",
        "  br label %rest",
        "rest:",
        "  br label %look",
    ]


def _end() -> list[str]:
    """Return the lines that return the result to Python."""
    return [
        "answer:",
        "  call void @PyEval_RestoreThread(ptr %thread)",
        "  %total = load i64, ptr %sum",
        "  %worst = load i64, ptr %lowest",
        "  %bad = icmp slt i64 %worst, 0",
        "  %told = select i1 %bad, i64 %worst, i64 %total",
        "  %answered = call ptr @PyLong_FromLongLong(i64 %told)",
        "  ret ptr %answered",
        "leave:",
        "  call void @PyEval_RestoreThread(ptr %thread)",
        "  %zero = call ptr @PyLong_FromLongLong(i64 0)",
        "  ret ptr %zero",
    ]
