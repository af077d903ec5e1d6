"""Import of optional dependencies, with an error message that names the extra."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled

__all__ = ["check_installed", "is_importable", "missing", "require"]


def require(module: str, *, extra: str, purpose: str = "") -> Any:
    """Import and return an optional module.

    Args:
        module: Its dotted name.
        extra: The extra of Ludus that installs it.
        purpose: The feature that needs it, for the message.

    Raises:
        DependencyNotInstalled: The module is not installed.
    """
    try:
        return import_module(module)
    except ImportError as problem:
        raise missing(module, extra=extra, purpose=purpose) from problem


def check_installed(module: str, *, extra: str) -> None:
    """Raise :class:`DependencyNotInstalled` like :func:`require`, without importing."""
    if find_spec(module) is None:
        raise missing(module, extra=extra)


def is_importable(module: str) -> bool:
    """Whether a module is installed; the packages around it are imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def missing(name: str, *, extra: str, purpose: str = "") -> DependencyNotInstalled:
    """Return the exception for a missing package.

    It is for code that uses an import statement, so that type checkers see the module.
    """
    how = f"run `{pip_install(extra)}`."
    if purpose:
        return DependencyNotInstalled(f"{purpose} needs {name}, which is not installed; {how}")
    return DependencyNotInstalled(f"{name} is not installed; {how}")
