# mypy: disable-error-code="untyped-decorator"
# ruff: noqa: ARG001 - numba says which arguments there are
"""LLVM features that numba does not expose.

Imports numba, so it is only imported for compiling.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["multiply_high", "pointer", "use_widest_vectors", "word"]

_WORD = ir.IntType(64)


@intrinsic
def use_widest_vectors(typing_context: Any) -> Any:
    """Let the calling function's loops use 512-bit registers if the processor has them.

    By default LLVM uses at most 256 bits, because older processors slow down with wider ones. The
    results have the same bits either way.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # llvmlite's set accepts known attributes only; LLVM accepts any pair of strings.
        set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def multiply_high(typing_context: Any, a: Any, b: Any) -> Any:
    """Return the upper half of the product of two 64-bit numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        left, right = (builder.zext(argument, wide) for argument in arguments)
        product = builder.mul(left, right)
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), _WORD)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """Return an address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@intrinsic
def word(typing_context: Any, table: Any, index: Any) -> Any:
    """Return a number of the table of 64-bit numbers at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = builder.inttoptr(arguments[0], _WORD.as_pointer())
        return builder.load(builder.gep(base, [arguments[1]]))

    return types.int64(types.int64, types.int64), generate
