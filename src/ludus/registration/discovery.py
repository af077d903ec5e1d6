"""Environments of other packages, found by the entry-point group ``ludus.envs``.

A package announces itself in its metadata::

    [project.entry-points."ludus.envs"]
    my_namespace = "my_package.registration:specs"

The target is a function to call, or an iterable of :class:`EnvSpec`; whatever it registers lands
in the namespace (``__root__``: in none). Nothing of a plugin is imported until one of its ids is
asked for, or everything is listed; names of namespaces come from metadata alone.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ludus import logger
from ludus.core.spec import EnvSpec
from ludus.errors import RegistrationError
from ludus.registration.add import add_spec, namespace, plugin_registration

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

__all__ = ["OWN", "load_own", "load_plugins", "plugin_namespaces"]

GROUP = "ludus.envs"
ROOT = "__root__"
OWN = {"mlgym": "ludus.research.registration:register_tasks"}
"""Namespaces of Ludus that are filled when one of their ids is missed, and by what."""

_loaded: set[tuple[str, str]] = set()
_lock = threading.RLock()


def _entry_points() -> EntryPoints:
    # Reading package metadata takes longer to import than the rest of the registry together.
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def plugin_namespaces() -> list[str]:
    """Return the namespaces that Ludus and installed packages announce, importing none."""
    return sorted({*OWN, *(point.name for point in _entry_points())} - {ROOT})


def root_plugins() -> list[str]:
    """Return ``[ROOT]`` if a package announces environments without a namespace."""
    return [ROOT] if any(point.name == ROOT for point in _entry_points()) else []


def load_own(ns: str | None = None, *, everything: bool = False) -> None:
    """Register what Ludus finds for a namespace of its own now, or for all of them."""
    for name, target in OWN.items():
        if everything or name == ns:
            module, _, function = target.partition(":")
            getattr(importlib.import_module(module), function)()


def load_plugins(ns: str | None = None, *, everything: bool = False) -> None:
    """Register the environments of the plugins that own a namespace, or of all plugins.

    Each plugin is loaded once, after what Ludus itself has there. One that fails is reported by a
    warning that names it, and does not keep the others from loading.
    """
    load_own(ns, everything=everything)
    wanted = ns or ROOT
    with _lock:
        for point in _entry_points():
            key = (point.name, point.value)
            if key in _loaded or not (everything or point.name == wanted):
                continue
            _loaded.add(key)
            try:
                _load(point)
            except Exception as problem:
                logger.warn(
                    f"Plugin {point.name!r} ({point.value}) could not register its environments: "
                    f"{type(problem).__name__}: {problem}. Reinstall or uninstall the package "
                    f"{point.dist.name if point.dist else 'that provides it'}."
                )


def _load(point: EntryPoint) -> None:
    with plugin_registration(), namespace(None if point.name == ROOT else point.name):
        target = point.load()
        if callable(target):
            target = target()
        if target is None:
            return
        if not isinstance(target, Iterable):
            raise RegistrationError(
                f"the entry point gives a {type(target).__name__}; expected a function to call "
                "or an iterable of EnvSpec"
            )
        for spec in target:
            if not isinstance(spec, EnvSpec):
                raise RegistrationError(f"expected EnvSpec, got a {type(spec).__name__}")
            add_spec(spec)
