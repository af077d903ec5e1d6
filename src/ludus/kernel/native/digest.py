"""Hashes everything that a kernel's compiled code depends on."""

from __future__ import annotations

import hashlib
import opcode
import sys
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ludus.kernel.contract import COMPILED_ROLES, Kernel
from ludus.version import __version__

__all__ = ["digest"]

_ENGINE = (
    *("program.py", "compiled_program.py"),
    *("native/numba_random.py", "native/numba_intrinsics.py", "native/jit.py"),
    *("native/numba_rows.py", "authoring/returned.py", "authoring/run_errors.py"),
    "authoring/typed.py",
)

_RAISE = opcode.opmap["RAISE_VARARGS"]


def digest(kernel: Kernel, text: str) -> str:
    """Return a hash of everything that a kernel's compiled code depends on.

    It is part of the name of a cache file: the byte code of the functions, and the versions of
    Ludus, Python and the compiler.
    """
    from importlib.metadata import version

    versions = (__version__, *map(version, ("numba", "llvmlite")), np.__version__, sys.version)
    found = hashlib.sha256()
    for part in (text, _sources(kernel), str(kernel.checks_indices), *versions, *_engine()):
        found.update(part.encode())
    return found.hexdigest()[:16]


def _engine() -> list[str]:
    return [(Path(__file__).parents[1] / name).read_text() for name in _ENGINE]


def _sources(kernel: Kernel) -> str:
    """Return the byte code of the kernel's functions and of all they call, and their constants."""
    texts = []
    seen: set[Any] = set()

    def visit(function: Any) -> None:
        if function in seen or not isinstance(function, FunctionType):
            return
        seen.add(function)
        texts.append(_code_text(function.__code__))
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, FunctionType):
                visit(value)
            elif isinstance(value, np.ndarray):
                texts.append(f"{name}={value.dtype}{value.shape}{value.tobytes()!r}")
            elif isinstance(value, int | float | bool | tuple | str):
                texts.append(f"{name}={value!r}")

    for role in COMPILED_ROLES:
        visit(getattr(kernel, role))
    texts.append(repr((kernel.param_fields, kernel.state_fields, kernel.info_fields)))
    return "\n".join(texts)


def _code_text(code: CodeType) -> str:
    inner = (_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    # Compiled code reports the file and line of what it raises, so these are part of the hash.
    raises = _RAISE in code.co_code[::2]
    place = (code.co_filename, *code.co_lines()) if raises else ()
    return repr((code.co_code, code.co_names, code.co_varnames, *inner, *place))
