"""Compile errors, told in terms of the kernel instead of the compiler."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from contextlib import contextmanager

from ludus.errors import KernelError
from ludus.kernel.contract import COMPILED_ROLES, Kernel

__all__ = ["explained"]


@contextmanager
def explained(kernel: Kernel) -> Iterator[None]:
    """Turn the compiler's errors into one about the kernel.

    Raises:
        KernelError: It cannot be compiled.
    """
    try:
        yield
    except Exception as problem:
        if type(problem).__module__.startswith("numba"):
            raise _explain(kernel, problem) from problem
        raise


def _explain(kernel: Kernel, problem: Exception) -> KernelError:
    """Return an error that names the kernel's own line and what is wrong there."""
    text = str(problem)
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    files = {
        function.__code__.co_filename
        for role in COMPILED_ROLES
        if (function := getattr(kernel, role)) is not None
    }
    own = [(file, int(line)) for file, line in places if _known(file, files)]
    where = ""
    if own:
        file, line = own[-1]
        full = next(path for path in files if path.endswith(file.lstrip("./")))
        where = f"\n  {full}, line {line}:\n    {linecache.getline(full, line).strip()}"
    return KernelError(
        f"Kernel {kernel.name} cannot be compiled: {_reason(text)}{where}\n"
        "Kernels may use numbers, comparisons, loops over range, arrays of params and state, "
        "helper functions, ludus.kernel.math and ludus.kernel.random. LUDUS_JIT=0 runs the kernel "
        "as plain Python, under a debugger if you like."
    )


def _known(file: str, files: set[str]) -> bool:
    return any(path.endswith(file.lstrip("./")) for path in files)


def _reason(text: str) -> str:
    """Return the line of a compiler's message that says most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = (
        "Untyped global name",
        "Cannot unify",
        "No implementation of function",
        "Unknown attribute",
        "Invalid use of",
        "non-precise type",
        "Unsupported",
        "not supported",
    )
    for line in reversed(lines):
        if any(words in line for words in telling):
            return line
    return lines[0] if lines else "the compiler gave no reason"
