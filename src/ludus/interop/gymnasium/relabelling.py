"""Gymnasium's module names on Ludus's classes and specs while the alias is installed.

Libraries compare module names, pickles store them, and programs read ``spec.entry_point``. Every
change is recorded so that it can be undone, and entered into
:data:`ludus.served_names.OWN_NAMES`, so that files and sandboxes use Ludus's own names.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.interop.gymnasium.alias_table import served_names
from ludus.registration import registry
from ludus.served_names import OWN_NAMES

__all__ = ["Relabelling"]


class Relabelling:
    """The changes that the alias has made to classes and to the registry."""

    def __init__(self) -> None:
        self._classes: list[tuple[type, str]] = []
        self._specs: list[tuple[EnvSpec, EnvSpec]] = []
        self._served: list[str] = []

    def label(self, cls: type, module: str) -> None:
        """Set ``__module__`` of a Ludus class to one of Gymnasium's modules."""
        self._classes.append((cls, cls.__module__))
        self._serve(f"{module}:{cls.__name__}", f"{cls.__module__}:{cls.__name__}")
        cls.__module__ = module

    def rename_entry_points(self) -> None:
        """Give built-in environments that Gymnasium also has Gymnasium's entry points."""
        names = served_names()
        for spec in list(registry.values()):
            if spec.security.trust != "builtin":
                continue
            renamed = dataclasses.replace(
                spec,
                entry_point=self._renamed(names, spec.entry_point),
                vector_entry_point=self._renamed(names, spec.vector_entry_point),
            )
            if renamed != spec:
                self._specs.append((spec, renamed))
                registry[spec.id] = renamed

    def undo(self) -> None:
        """Undo every change, except for specs that were registered again since."""
        for cls, module in self._classes:
            cls.__module__ = module
        for spec, renamed in self._specs:
            if registry.get(spec.id) is renamed:
                registry[spec.id] = spec
        for name in self._served:
            OWN_NAMES.pop(name, None)
        self._classes, self._specs, self._served = [], [], []

    def _renamed(self, names: dict[str, str], entry_point: Any) -> Any:
        if not isinstance(entry_point, str):
            return entry_point
        module, _, path = entry_point.partition(":")
        name, dot, rest = path.partition(".")
        served = names.get(f"{module}:{name}")
        if served is None:
            return entry_point
        self._serve(served, f"{module}:{name}")
        return f"{served}{dot}{rest}"

    def _serve(self, served: str, own: str) -> None:
        OWN_NAMES.setdefault(served, own)
        self._served.append(served)
