"""Compiled kernels for the programs of a grading's sandboxes."""

from __future__ import annotations

import os

__all__ = ["VARIABLE", "borrow_kernels"]

VARIABLE = "LUDUS_KERNELS"
"""Names the folder with what the host has compiled, where a task says that it needs Ludus."""


def borrow_kernels() -> None:
    """Begin the sandbox's cache with what the host has compiled, if this sandbox is shown it."""
    source = os.environ.get(VARIABLE)
    if source is not None:
        from ludus.untrusted.inside.runner import _borrow_kernels

        _borrow_kernels(source)
