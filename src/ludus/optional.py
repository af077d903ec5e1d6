"""Optional packages: imported when they are needed, or a message that names the extra."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled

__all__ = ["check_installed", "missing", "require"]


def require(module: str, *, extra: str, purpose: str = "") -> Any:
    """Import and return an optional module.

    Args:
        module: Its dotted name.
        extra: The extra of Ludus that installs it.
        purpose: What needs it, for the message.

    Raises:
        DependencyNotInstalled: It is not installed; see :func:`missing`.
    """
    try:
        return import_module(module)
    except ImportError as problem:
        raise missing(module, extra=extra, purpose=purpose) from problem


def check_installed(module: str, *, extra: str) -> None:
    """Raise :class:`DependencyNotInstalled` as :func:`require` would, without importing."""
    if find_spec(module) is None:
        raise missing(module, extra=extra)


def missing(name: str, *, extra: str, purpose: str = "") -> DependencyNotInstalled:
    """Return the error that says which package is missing and how to install it.

    It is for places that import with a statement, so that type checkers see the module.
    """
    how = f"run `{pip_install(extra)}`."
    if purpose:
        return DependencyNotInstalled(f"{purpose} needs {name}, which is not installed; {how}")
    return DependencyNotInstalled(f"{name} is not installed; {how}")
