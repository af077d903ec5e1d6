"""Packages that only some wrappers need."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled

__all__ = ["check_installed", "require"]


def require(module: str, *, extra: str) -> Any:
    """Import and return an optional module.

    Raises:
        DependencyNotInstalled: It is not installed; the message names the extra that brings it.
    """
    try:
        return import_module(module)
    except ImportError as problem:
        raise _missing(module, extra) from problem


def check_installed(module: str, *, extra: str) -> None:
    """Raise :class:`DependencyNotInstalled` as :func:`require` would, without importing."""
    if find_spec(module) is None:
        raise _missing(module, extra)


def _missing(module: str, extra: str) -> DependencyNotInstalled:
    return DependencyNotInstalled(f"{module} is not installed; run `{pip_install(extra)}`.")
