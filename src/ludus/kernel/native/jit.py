"""Compiles a kernel's functions together with the helpers that they call.

Functions are compiled with a copy of their globals in which helpers are replaced by their compiled
versions, recursively. The user's module is not changed.
"""

from __future__ import annotations

import os
import sys
from types import FunctionType
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

from ludus.errors import KernelError
from ludus.kernel.contract import COMPILED_ROLES, Kernel

__all__ = [
    "CompileMode",
    "can_compile_apart",
    "check_plain",
    "checked_mode",
    "compile_mode",
    "compiled",
    "for_any_number",
    "jit_enabled",
    "known_name",
]


CompileMode = Literal["wait", "background", "never"]

_known: WeakKeyDictionary[Kernel, tuple[str, str]] = WeakKeyDictionary()
"""What :func:`known_name` found."""


def compile_mode() -> CompileMode:
    """Return the compile mode from the environment variable ``LUDUS_COMPILE``.

    ``background`` (the default) runs plain Python while another process compiles, ``wait`` waits
    for compiled code, ``never`` runs plain Python only; so does ``LUDUS_JIT=0``.

    Raises:
        KernelError: The variable has another value.
    """
    if os.environ.get("LUDUS_JIT", "1") == "0":
        return "never"
    return checked_mode(os.environ.get("LUDUS_COMPILE") or "background", "LUDUS_COMPILE")


def checked_mode(mode: str, name: str) -> CompileMode:
    """Return ``mode`` if it is valid; ``name`` is that of the setting, for the error.

    Raises:
        KernelError: It is not a compile mode.
    """
    for known in get_args(CompileMode):
        if mode == known:
            return known  # type: ignore[no-any-return]
    raise KernelError(f"{name} must be 'wait', 'background' or 'never', got {mode!r}.")


def jit_enabled() -> bool:
    """Return whether kernels are compiled at all."""
    return compile_mode() != "never"


def known_name(kernel: Kernel) -> tuple[str, str] | None:
    """Return the module of Ludus that defines a kernel, and the kernel's name there."""
    if kernel in _known:
        return _known[kernel]
    functions: list[Any] = [getattr(kernel, role) for role in COMPILED_ROLES]
    modules = {function.__module__ for function in functions if function is not None}
    for module in sorted(name for name in modules if name.startswith("ludus.")):
        for name, value in vars(sys.modules.get(module, object)).items():
            if value is kernel:
                return _known.setdefault(kernel, (module, name))
    return None


def can_compile_apart() -> bool:
    """Return whether this process can start another Python interpreter."""
    # In a program that embeds Python, sys.executable is not an interpreter.
    is_python = os.path.basename(sys.executable or "").startswith("python")  # noqa: PTH119
    return is_python and not getattr(sys, "frozen", False)


def check_plain(function: Any) -> None:
    """Check that a function is a plain function without closure.

    Raises:
        KernelError: It is not.
    """
    if not isinstance(function, FunctionType):
        raise KernelError(f"{function!r} is not a plain Python function.")
    code = function.__code__
    if function.__closure__:
        raise KernelError(
            f"{function.__name__} uses {list(code.co_freevars)} of an enclosing function "
            f"({code.co_filename}, line {code.co_firstlineno}); pass them in params instead."
        )


def compiled(
    function: Any,
    memo: dict[Any, Any],
    tag: str,
    *,
    check_indices: bool = False,
    inline: bool = True,
) -> Any:
    """Compile a function and every plain function that it calls by name.

    Args:
        function: A module-level function without closure.
        memo: Compiled versions by plain function, which this extends. It initially contains the
            replacements of functions such as random draws.
        tag: Added to the names, because compiled code finds functions by name, also those that
            another process has cached.
        check_indices: Raise ``IndexError`` for an index outside of an array, as Python does,
            instead of accessing other memory.
        inline: Inline it into its callers: a call prevents a loop from vectorising, but large
            functions in many places take long to compile.

    Raises:
        KernelError: The function is a closure, or not a plain function.
    """
    if function in memo:
        return memo[function]
    from numba import njit

    check_plain(function)
    code = function.__code__
    namespace = dict(function.__globals__)
    name = f"{function.__name__}{tag}"
    twin = FunctionType(
        code.replace(co_name=name, co_qualname=name), namespace, name, function.__defaults__
    )
    # Only compiled code calls it, so wrappers for Python are not needed.
    unneeded = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    options = {"error_model": "numpy", "forceinline": inline, "boundscheck": check_indices}
    dispatcher = memo[function] = for_any_number(njit(**options, **unneeded)(twin))
    for name in code.co_names:
        value = namespace.get(name)
        if isinstance(value, FunctionType):
            namespace[name] = compiled(value, memo, tag, check_indices=check_indices, inline=inline)
    return dispatcher


def for_any_number(dispatcher: Any) -> Any:
    """Compile a function once for all constant arguments.

    Numba would compile it for each. It still does if the type depends on the constant, such as an
    index into a tuple of different types.
    """
    from numba.core.errors import TypingError
    from numba.types import unliteral

    exact = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        numbers = tuple(map(unliteral, args))
        named = {name: unliteral(value) for name, value in kws.items()}
        try:
            return exact(numbers, named)
        except TypingError:
            if numbers == tuple(args) and named == dict(kws):
                raise
            return exact(args, kws)

    dispatcher.get_call_template = get_call_template
    return dispatcher
