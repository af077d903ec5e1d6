"""Decides which module-level values and functions a kernel may use."""

from __future__ import annotations

import builtins
import difflib
import enum
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ludus.kernel import math as kernel_math

__all__ = [
    "ABSENT",
    "Refusal",
    "is_namedtuple",
    "is_numpy",
    "lookup",
    "refusal",
    "similar",
    "words",
]

ABSENT = object()
"""Result of :func:`lookup` for an undefined name."""


class Refusal(NamedTuple):
    """Why a value may not be used: the rule, and a hint that replaces the rule's."""

    rule: str
    hint: str = ""


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_EXACT_MATH = words("ceil copysign fabs floor fmod frexp gcd isfinite isinf isnan ldexp sqrt trunc")
_NUMPY_MATH = words(
    "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 "
    "atanh cbrt cos cosh deg2rad degrees exp exp2 expm1 float_power hypot log log10 log1p "
    "log2 logaddexp logaddexp2 pow power rad2deg radians sin sinc sinh tan tanh"
)
_NUMPY_ALLOCATES = words(
    "append arange argsort array asarray asanyarray ascontiguousarray atleast_1d atleast_2d "
    "column_stack concatenate copy delete diag empty empty_like eye fromiter full full_like "
    "hstack identity insert linspace meshgrid nonzero ones ones_like outer repeat sort stack "
    "tile unique vstack zeros zeros_like"
)
_NUMPY_REDUCES = words(
    "average convolve corrcoef correlate cov cross cumprod cumsum dot einsum inner linalg "
    "matmul mean median nanmean nanmedian nanstd nansum nanvar polyfit polyval std tensordot "
    "trapezoid trapz var vdot"
)
_NUMPY_SELECTS = {
    "clip": "Write min(max(x, low), high) for each number.",
    "select": "Write `a if condition else b` for each number.",
    "where": "Write `a if condition else b` for each number.",
}
_MODULES = {
    **dict.fromkeys(("random", "secrets", "uuid", "numpy.random"), "kernel-random"),
    **dict.fromkeys(("numpy.linalg", "numpy.fft"), "kernel-reduction"),
    **dict.fromkeys(("time", "datetime", "_datetime"), "kernel-clock"),
    **dict.fromkeys(("pdb", "ipdb", "bdb"), "kernel-debugger"),
    **dict.fromkeys(
        (
            *("asyncio", "csv", "ctypes", "glob", "http", "io", "_io", "json", "logging"),
            *("multiprocessing", "os", "pathlib", "pickle", "posix", "nt", "requests", "shutil"),
            *("socket", "subprocess", "sys", "tempfile", "threading", "urllib", "warnings"),
        ),
        "kernel-io",
    ),
}
_NUMPY_RANDOM = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
_BUILTINS = words("abs bool divmod enumerate float int len max min pow range round sum tuple zip")
_BUILTIN_RULES = {
    "print": "kernel-print",
    "breakpoint": "kernel-debugger",
    "input": "kernel-io",
    "open": "kernel-io",
    "list": "kernel-list",
    "sorted": "kernel-list",
    "dict": "kernel-dict",
    "set": "kernel-set",
    "frozenset": "kernel-set",
    **dict.fromkeys(("str", "repr", "bytes", "chr", "format", "ascii"), "kernel-string"),
    **dict.fromkeys(("globals", "locals", "vars"), "kernel-global-state"),
    "__import__": "kernel-import",
    "object": "kernel-class",
}
_SPELLED = {"arctan": "atan", "arctan2": "atan2", "expm1": "exp", "exp2": "exp"}
_FORMULAS = {
    "acos": "atan2(sqrt((1.0 - x) * (1.0 + x)), x)",
    "arccos": "atan2(sqrt((1.0 - x) * (1.0 + x)), x)",
    "arcsin": "atan2(x, sqrt((1.0 - x) * (1.0 + x)))",
    "asin": "atan2(x, sqrt((1.0 - x) * (1.0 + x)))",
    "cosh": "0.5 * (exp(x) + exp(-x))",
    "deg2rad": "x * 0.017453292519943295",
    "degrees": "x * 57.29577951308232",
    "dist": "sqrt(x * x + y * y)",
    "hypot": "sqrt(x * x + y * y)",
    "log10": "log(x) * 0.4342944819032518",
    "log1p": "log(1.0 + x)",
    "log2": "log(x) * 1.4426950408889634",
    "pow": "multiplications, or exp(y * log(x))",
    "power": "multiplications, or exp(y * log(x))",
    "rad2deg": "x * 57.29577951308232",
    "radians": "x * 0.017453292519943295",
    "sinh": "0.5 * (exp(x) - exp(-x))",
}


def lookup(names: Mapping[str, Any], path: Sequence[str]) -> tuple[Any, int]:
    """Return the value of a dotted name, and how many of its parts were resolved.

    Only attributes of modules and enums are resolved. The value is ``ABSENT`` if a part is not
    defined.
    """
    value = names.get(path[0], ABSENT)
    if value is ABSENT:
        value = getattr(builtins, path[0], ABSENT)
    used = 1
    while used < len(path) and _is_namespace(value):
        value = getattr(value, path[used], ABSENT)
        used += 1
    return value, used


def _is_namespace(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return _module(value.__name__) is None
    return isinstance(value, type) and issubclass(value, enum.IntEnum)


def similar(name: str, names: Mapping[str, Any]) -> str:
    """Return a hint with the most similar name, empty if there is none."""
    close = difflib.get_close_matches(name, [*names, *_BUILTINS], n=1, cutoff=0.75)
    return f"Did you mean {close[0]}?" if close else ""


def is_namedtuple(value: Any) -> bool:
    """Return whether a value is a NamedTuple class."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def refusal(value: Any) -> Refusal | None:
    """Return why kernels may not use a module-level value, ``None`` if they may.

    Plain functions are accepted here; they are checked as helpers.
    """
    if isinstance(value, ModuleType):
        return _module(value.__name__)
    if value is None:
        return Refusal("kernel-none")
    if isinstance(value, str | bytes | bytearray):
        return Refusal("kernel-string")
    for kind, rule in ((dict, "kernel-dict"), (set, "kernel-set"), (frozenset, "kernel-set")):
        if isinstance(value, kind):
            return Refusal(rule)
    if isinstance(value, list):
        return Refusal("kernel-list", "Make the constant a tuple, or a NumPy array.")
    if isinstance(value, _NUMPY_RANDOM):
        return Refusal("kernel-random")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return Refusal("kernel-large-int")
    if isinstance(value, bool | int | float | complex | np.generic):
        return None
    if isinstance(value, np.ndarray):
        plain = value.dtype.kind in "biuf"
        return None if plain else Refusal("kernel-global-value")
    if isinstance(value, tuple):
        return next((found for item in value if (found := refusal(item))), None)
    return _callable(value)


def _callable(value: Any) -> Refusal | None:
    if isinstance(value, FunctionType) and not is_numpy(value):
        return _module(value.__module__ or "")
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, np.ufunc) or is_numpy(value):
        return _numpy(value.__name__)
    if isinstance(value, MethodType | BuiltinFunctionType):
        owner = getattr(value, "__self__", None)
        kind = type(owner)
        if isinstance(owner, ModuleType):
            return _builtin_function(owner.__name__, value.__name__)
        return _module(kind.__module__) or Refusal("kernel-foreign-call")
    if callable(value):
        # Functions that numba has compiled can be called.
        numba = type(value).__module__.startswith("numba.")
        return None if numba else _module(type(value).__module__) or Refusal("kernel-function")
    return _module(type(value).__module__) or Refusal("kernel-global-value")


def _module(name: str) -> Refusal | None:
    for known, rule in _MODULES.items():
        if name == known or name.startswith(known + "."):
            return Refusal(rule)
    return None


def is_numpy(value: Any) -> bool:
    """Return whether a value is a function of NumPy."""
    name = getattr(value, "__name__", "")
    return getattr(np, name, ABSENT) is value


def _class(value: type) -> Refusal | None:
    if is_namedtuple(value) or issubclass(value, np.generic | enum.IntEnum | BaseException):
        return None
    if value.__module__ == "builtins":
        return _builtin(value.__name__)
    return _module(value.__module__) or Refusal("kernel-class")


def _builtin_function(module: str, name: str) -> Refusal | None:
    if module == "builtins":
        return _builtin(name)
    if module == "math":
        return None if name in _EXACT_MATH else _mathematics(name)
    return _module(module) or Refusal("kernel-foreign-call")


def _builtin(name: str) -> Refusal | None:
    return None if name in _BUILTINS else Refusal(_BUILTIN_RULES.get(name, "kernel-builtin"))


def _numpy(name: str) -> Refusal | None:
    if name in _NUMPY_MATH:
        return _mathematics(name)
    if name in _NUMPY_SELECTS:
        return Refusal("kernel-allocation", _NUMPY_SELECTS[name])
    if name in _NUMPY_ALLOCATES:
        return Refusal("kernel-allocation")
    return Refusal("kernel-reduction") if name in _NUMPY_REDUCES else None


def _mathematics(name: str) -> Refusal:
    """Return the refusal of an inexact function, with a hint what to use instead."""
    known = _SPELLED.get(name, name)
    if known in kernel_math.__all__:
        return Refusal("kernel-math", f"Write `from ludus.kernel.math import {known}`.")
    if name in _FORMULAS:
        return Refusal("kernel-math", f"Write {_FORMULAS[name]}, from ludus.kernel.math.")
    return Refusal("kernel-math", "Build it from the functions of ludus.kernel.math.")
