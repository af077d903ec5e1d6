"""Lazy attributes of packages: a module is imported when one of its names is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["lazy_attributes", "lazy_modules", "lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, str], *, modules: Iterable[str] = ()
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package.

    Args:
        package: The package's ``__name__``.
        homes: For each name, the module of the package that defines it; ``"module:other"`` if
            it has another name there.
        modules: Modules of the package that are imported on first use.
    """
    load = lazy_attributes(package, {name: f"{package}.{home}" for name, home in homes.items()})
    known = frozenset(modules)

    def get(name: str) -> Any:
        return import_module(f"{package}.{name}") if name in known else load(name)

    return get


def lazy_attributes(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module whose names are defined in other modules.

    Args:
        module: The module's ``__name__``.
        homes: For each name, the module that defines it; ``"module:other"`` if it has another name
            there.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, own_name = homes[name].partition(":")
        value = getattr(import_module(home), own_name or name)
        setattr(import_module(module), name, value)
        return value

    return load


def lazy_modules(package: str, modules: Mapping[str, Mapping[str, str]]) -> None:
    """Add modules without files to a package, whose names are defined in other modules.

    They provide module paths of Gymnasium that Ludus does not have, and import nothing until one of
    their names is used.

    Args:
        package: The package's ``__name__``.
        modules: For each module, its names, as for :func:`lazy_attributes`.
    """
    for short_name, homes in modules.items():
        name = f"{package}.{short_name}"
        module = ModuleType(name, f"Gymnasium's module with {', '.join(sorted(homes))}.")
        module.__spec__ = ModuleSpec(name, None)
        module.__package__ = package
        vars(module)["__all__"] = sorted(homes)
        vars(module)["__getattr__"] = lazy_attributes(name, homes)
        sys.modules[name] = module
        setattr(sys.modules[package], short_name, module)
