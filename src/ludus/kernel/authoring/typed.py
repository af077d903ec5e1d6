"""Checks the compiler's types and LLVM IR."""

from __future__ import annotations

import builtins
import operator
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from ludus.kernel.authoring.mistakes import Mistake, at_function, at_line
from ludus.kernel.authoring.names import words
from ludus.kernel.authoring.returned import Expectation, Kind, Several
from ludus.kernel.authoring.validation import is_own
from ludus.kernel.native.load import needed_symbols

__all__ = ["foreign_symbols", "interpreter_mistake", "return_mistakes", "typed_mistakes"]

_POWERS = (operator.pow, operator.ipow, builtins.pow)
_SUMS = (builtins.sum, np.sum, np.prod, np.mean, operator.matmul, operator.imatmul)
_SUM_METHODS = ("array.sum", "array.prod", "array.mean", "array.var", "array.std", "array.dot")
_INTERPRETER = re.compile(r"_?Py[A-Z_]|numba_(gil|unpickle|do_raise|runtime|print|recreate)")
_LOCK = re.compile(r"numba_gil|PyGILState")
_INEXACT = words(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp2 expm1 hypot "
    "lgamma log log10 log1p log2 pow sin sincos sinh tan tanh tgamma"
)


def return_mistakes(
    expected: Mapping[str, Expectation], dispatchers: Mapping[Any, Any]
) -> Iterator[Mistake]:
    """Yield the mistakes in the types that a kernel's compiled functions return."""
    for expectation in expected.values():
        if expectation.role.fills:
            continue
        for compiled in _overloads(dispatchers.get(expectation.function)):
            problem = expectation.problem(_kind(compiled.signature.return_type))
            if problem:
                yield expectation.mistake(problem)
                break


def typed_mistakes(dispatchers: Mapping[Any, Any]) -> Iterator[Mistake]:
    """Yield the operations on floats whose results would differ between Python and compiled code.

    Args:
        dispatchers: Numba's dispatchers by plain function; those of Ludus are skipped.
    """
    for function, dispatcher in dispatchers.items():
        if is_own(function) or not isinstance(function, FunctionType):
            continue
        for compiled in _overloads(dispatcher):
            notes = compiled.type_annotation
            for node, signature in notes.calltypes.items():
                rule = _rule(node, signature, notes.typemap)
                if rule is not None:
                    yield at_line(rule, function, node.loc.line, "The expression")


def _overloads(dispatcher: Any) -> list[Any]:
    return list(getattr(dispatcher, "overloads", {}).values())


def _rule(node: Any, signature: Any, types: Mapping[str, Any]) -> str | None:
    from numba.core import types as kinds

    result = getattr(signature, "return_type", None)
    if not isinstance(getattr(result, "dtype", result), kinds.Float):
        return None
    details = getattr(node, "_kws", {})
    if "fn" in details:
        called = details["fn"]
    elif "func" in details:
        called = types.get(details["func"].name)
        name = str(getattr(called, "typing_key", ""))
        if name in _SUM_METHODS:
            return "kernel-reduction"
        called = getattr(called, "typing_key", None)
    else:
        return None
    if called in _POWERS:
        return "kernel-float-power"
    return "kernel-reduction" if called in _SUMS else None


def _kind(kind: Any) -> Kind:
    """Return the kind of a numba type."""
    types: Any = import_module("numba.core.types")
    kind = types.unliteral(kind)
    if isinstance(kind, types.NoneType | types.Optional):
        return "None"
    if isinstance(kind, types.BaseTuple):
        made = getattr(kind, "instance_class", None)
        return Several(made, tuple(_kind(item) for item in kind))
    for known, name in (
        (types.Boolean, "bool"),
        (types.Integer, "int"),
        (types.Float, "float"),
        (types.Array, "array"),
    ):
        if isinstance(kind, known):
            return name
    return str(kind)


def foreign_symbols(module: str, *, wrapped: bool) -> tuple[list[str], list[str]]:
    """Return the functions of the interpreter and the inexact functions of C that code calls.

    Args:
        module: Its LLVM IR.
        wrapped: Whether it includes a wrapper for Python, which calls the interpreter. Then only
            functions that acquire the GIL are returned, because the function itself would need it.
    """
    needed = needed_symbols(module)
    pattern = _LOCK if wrapped else _INTERPRETER
    interpreter = [name for name in needed if pattern.match(name)]
    return interpreter, [name for name in needed if name in _INEXACT]


def interpreter_mistake(function: FunctionType, symbols: list[str], inexact: list[str]) -> Mistake:
    """Return the mistake of calling functions that compiled code must not call."""
    if inexact:
        what = f"{function.__name__}, or what it calls, uses {', '.join(inexact)} of the C library:"
        return at_function(
            "kernel-math", function, what, "their last bits differ from machine to machine"
        )
    names = ", ".join(symbols[:5])
    what = f"{function.__name__}, or what it calls,"
    reason = f"needs the Python interpreter ({names}), which compiled code must not call"
    return at_function("kernel-interpreter", function, what, reason)
