"""NumPy's seeding of PCG64 for many seeds in one native call.

``kernel/batch/seeds.py`` has the same computation in NumPy and explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from ludus.kernel.generator import (
    DRAW,
    HASH,
    LANES,
    MIX,
    MULTIPLIER,
    POOL,
    WORDS,
    hash_constants,
)
from ludus.kernel.native.cpython import read_arguments, with_declarations, write

__all__ = ["seeding_function", "seeding_source"]

_VECTOR = f"<{LANES} x i32>"


def seeding_source() -> str:
    """Return the LLVM IR of ``shim(entropy, room, count, words)``, which seeds generators.

    ``entropy`` is the address of ``POOL`` rows of ``room`` 32-bit numbers, the lowest part of each
    seed first; ``room`` is a multiple of ``LANES``. ``words`` is the address of the random words of
    ``count`` generators.
    """
    text = _Text()
    pool = text.stirred([f"%part{k}" for k in range(POOL)])
    draws = hash_constants(*DRAW)
    drawn = [text.hashed(pool[k % POOL], draws) for k in range(2 * POOL)]
    return with_declarations(
        [
            *read_arguments("iiii"),
            f"  %drawn = alloca [{2 * POOL * LANES} x i32], align {4 * LANES}",
            "  %entropy = inttoptr i64 %value0 to ptr",
            "  %words = inttoptr i64 %value3 to ptr",
            "  br label %blocks",
            "blocks:",
            "  %first = phi i64 [0, %run], [%next_first, %block_done]",
            "  %more = icmp slt i64 %first, %value2",
            "  br i1 %more, label %block, label %end",
            "block:",
            *_load_parts(),
            *text.lines,
            *_store_drawn(drawn),
            "  br label %lanes",
            *_finish_lanes(),
            "block_done:",
            f"  %next_first = add i64 %first, {LANES}",
            "  br label %blocks",
            "end:",
            "  %answer = call ptr @PyLong_FromLongLong(i64 0)",
            "  ret ptr %answer",
            "}",
        ]
    )


@cache
def seeding_function() -> Callable[[int, int, int, int], int]:
    """Return the function of :func:`seeding_source`."""
    from ludus.kernel.native.calls import shim_address
    from ludus.kernel.native.cpython import builtin_function

    return builtin_function("seed", shim_address(seeding_source(), {}))


class _Text:
    """LLVM IR that computes on vectors of 32-bit numbers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def made(self, operation: str, left: str, right: str | int) -> str:
        """Add an operation, with a vector or with one number for all lanes."""
        if isinstance(right, int):
            right = f"<{', '.join([f'i32 {right}'] * LANES)}>"
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {operation} {_VECTOR} {left}, {right}")
        return name

    def hashed(self, value: str, constants: Iterator[tuple[int, int]]) -> str:
        """Add one use of a hash."""
        before, after = next(constants)
        value = self.made("mul", self.made("xor", value, before), after)
        return self.folded(value)

    def folded(self, value: str) -> str:
        """Add the mixing of the upper half of a number into the lower one."""
        return self.made("xor", value, self.made("lshr", value, 16))

    def stirred(self, entropy: list[str]) -> list[str]:
        """Add the mixing of a seed's parts into the pool."""
        constants = hash_constants(*HASH)
        pool = [self.hashed(part, constants) for part in entropy]
        for source in range(POOL):
            for target in range(POOL):
                if source != target:
                    left = self.made("mul", pool[target], MIX[0])
                    right = self.made("mul", self.hashed(pool[source], constants), MIX[1])
                    pool[target] = self.folded(self.made("sub", left, right))
        return pool


def _load_parts() -> list[str]:
    lines = []
    for k in range(POOL):
        lines += [
            f"  %row{k} = mul i64 %value1, {k}",
            f"  %place{k} = add i64 %row{k}, %first",
            f"  %part{k}.at = getelementptr i32, ptr %entropy, i64 %place{k}",
            f"  %part{k} = load {_VECTOR}, ptr %part{k}.at, align 4",
        ]
    return lines


def _store_drawn(drawn: list[str]) -> list[str]:
    lines = []
    for k, vector in enumerate(drawn):
        lines += [
            f"  %drawn{k}.at = getelementptr i32, ptr %drawn, i64 {k * LANES}",
            f"  store {_VECTOR} {vector}, ptr %drawn{k}.at, align 4",
        ]
    return lines


def _finish_lanes() -> list[str]:
    """Return the loop that computes the words of each generator from the drawn numbers."""
    lines = [
        "lanes:",
        "  %lane = phi i64 [0, %block], [%next_lane, %write]",
        "  %index = add i64 %first, %lane",
        "  %is_seed = icmp slt i64 %index, %value2",
        f"  %is_lane = icmp slt i64 %lane, {LANES}",
        "  %both = and i1 %is_seed, %is_lane",
        "  br i1 %both, label %write, label %block_done",
        "write:",
    ]
    for k in range(2 * POOL):
        lines += [
            f"  %half{k}.place = add i64 %lane, {k * LANES}",
            f"  %half{k}.at = getelementptr i32, ptr %drawn, i64 %half{k}.place",
            f"  %half{k}.held = load i32, ptr %half{k}.at",
            f"  %half{k} = zext i32 %half{k}.held to i128",
        ]
    # Each 64-bit word has its lower half first; of each pair of words the upper one comes first.
    for name, first in (("begun", 0), ("sequence", POOL)):
        shifts = (64, 96, 0, 32)
        for k, shift in enumerate(shifts):
            lines.append(f"  %{name}{k} = shl i128 %half{first + k}, {shift}")
        lines += [
            f"  %{name}.upper = or i128 %{name}0, %{name}1",
            f"  %{name}.lower = or i128 %{name}2, %{name}3",
            f"  %{name} = or i128 %{name}.upper, %{name}.lower",
        ]
    lines += [
        "  %doubled = shl i128 %sequence, 1",
        "  %increment = or i128 %doubled, 1",
        "  %sum = add i128 %increment, %begun",
        f"  %product = mul i128 %sum, {MULTIPLIER}",
        "  %state = add i128 %product, %increment",
        f"  %at_words = mul i64 %index, {WORDS}",
        "  %own = getelementptr i64, ptr %words, i64 %at_words",
    ]
    for k, (name, shift) in enumerate(
        (("state", 64), ("state", 0), ("increment", 64), ("increment", 0))
    ):
        lines += [
            f"  %out{k}.wide = lshr i128 %{name}, {shift}",
            f"  %out{k} = trunc i128 %out{k}.wide to i64",
            *write(f"out{k}.at", "i64", "%own", f"{k}", f"%out{k}"),
        ]
    return [
        *lines,
        f"  %spare.at = getelementptr i64, ptr %own, i64 {WORDS - 1}",
        "  store i64 0, ptr %spare.at",
        "  %next_lane = add i64 %lane, 1",
        "  br label %lanes",
    ]
