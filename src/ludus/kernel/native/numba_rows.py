# mypy: disable-error-code="untyped-decorator,misc"
# ruff: noqa: ARG001 - numba says which arguments there are
"""A numba type for rows of numbers: pointers that do not alias.

Numba's arrays have sizes and strides, and LLVM does not know that they do not overlap: a loop over
twenty rows would begin with hundreds of comparisons of addresses. Each row here has a number, and
its loads and stores have metadata that they do not alias rows of other numbers.

Imports numba, so it is only imported for compiling.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import PrimitiveModel, register_default
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin
from numba.np.numpy_support import from_dtype

from ludus.kernel.generator import WORDS

__all__ = ["any_of_8", "random_words", "row"]


class Row(types.Type):
    """The type of a row: its dtype, its number, and the count of rows."""

    def __init__(self, dtype: Any, number: int, count: int) -> None:
        self.dtype, self.number, self.count = dtype, number, count
        super().__init__(f"Row({dtype}, {number}, {count})")


@register_default(Row)
class _RowModel(PrimitiveModel):
    """A row is represented by an address."""

    def __init__(self, manager: Any, kind: Row) -> None:
        held = manager.lookup(kind.dtype).get_data_type()
        super().__init__(manager, kind, held.as_pointer())


@intrinsic(prefer_literal=True)
def row(typing_context: Any, address: Any, code: Any, first: Any, number: Any, count: Any) -> Any:
    """Return the row of a dtype at an address, starting with element ``first``."""
    held = from_dtype(np.dtype(code.literal_value))
    kind = Row(held, number.literal_value, count.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = builder.inttoptr(arguments[0], context.get_value_type(kind))
        return builder.gep(base, [arguments[2]])

    return kind(types.int64, code, types.int64, number, count), generate


@intrinsic(prefer_literal=True)
def random_words(typing_context: Any, address: Any, index: Any, number: Any, count: Any) -> Any:
    """Return the random words of an environment as a row."""
    kind = Row(types.uint64, number.literal_value, count.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = builder.inttoptr(arguments[0], context.get_value_type(kind))
        return builder.gep(base, [builder.mul(arguments[1], arguments[1].type(WORDS))])

    return kind(types.int64, types.int64, number, count), generate


@intrinsic
def any_of_8(typing_context: Any, flags: Any, first: Any) -> Any:
    """Return whether one of eight flags of a row is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        place = builder.gep(arguments[0], [arguments[1]])
        read = builder.load(builder.bitcast(place, word.as_pointer()), align=1)
        _mark(builder, read, signature.args[0])
        return builder.icmp_unsigned("!=", read, word(0))

    return types.boolean(flags, types.int64), generate


@infer_global(operator.getitem)
class _TypeOfGet(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Row):
            return signature(args[0].dtype, args[0], types.int64)
        return None


@infer_global(operator.setitem)
class _TypeOfSet(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Row):
            return signature(types.none, args[0], types.int64, args[2])
        return None


@lower_builtin(operator.getitem, Row, types.Integer)
def _get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    read = builder.load(builder.gep(arguments[0], [arguments[1]]))
    _mark(builder, read, kind)
    return context.data_model_manager[kind.dtype].from_data(builder, read)


@lower_builtin(operator.setitem, Row, types.Integer, types.Any)
def _set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, _, given = signature.args
    value = context.cast(builder, arguments[2], given, kind.dtype)
    data = context.data_model_manager[kind.dtype].as_data(builder, value)
    _mark(builder, builder.store(data, builder.gep(arguments[0], [arguments[1]])), kind)
    return context.get_dummy_value()


def _mark(builder: Any, access: Any, kind: Row) -> None:
    """Add metadata about which row an instruction accesses and which it does not."""
    module = builder.module
    domain = module.add_metadata(["rows of ludus"])
    scopes = [module.add_metadata([f"row {k} of ludus", domain]) for k in range(kind.count)]
    access.set_metadata("alias.scope", module.add_metadata([scopes.pop(kind.number)]))
    access.set_metadata("noalias", module.add_metadata(scopes))
