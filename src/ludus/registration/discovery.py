"""Discovery of plugins by the entry-point group ``ludus.envs``.

A package declares a plugin in its metadata::

    [project.entry-points."ludus.envs"]
    my_namespace = "my_package.registration:specs"

The target is a function or an iterable of :class:`EnvSpec`. The environments that it registers are
put into the namespace; ``__root__`` stands for none. A plugin is imported only when an id in its
namespace is looked up, or when all environments are listed. It is not imported for mistyped ids,
ids without a namespace or ids of Ludus: namespaces are known from the metadata.

A namespace is ignored if it is one of Ludus or similar to one, is not valid in an id, or is
declared by several packages.

Namespaces that packages declare for Gymnasium, in the group ``gymnasium.envs``, are loaded when one
of their ids is looked up, but not when all environments are listed.
"""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ludus import logger
from ludus.core.spec import EnvSpec
from ludus.errors import RegistrationError
from ludus.registration.foreign import GROUP as GYMNASIUM_GROUP
from ludus.registration.foreign import adopt_specs
from ludus.registration.register_env import add_spec, namespace, plugin_registration
from ludus.registration.table import registry
from ludus.terminal_text import excerpt

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

__all__ = ["OWN", "load_own", "load_plugins", "plugin_namespaces", "root_packages"]

GROUP = "ludus.envs"
ROOT = "__root__"
OWN = {"mlgym": "ludus.research.task.registration:register_tasks"}
"""Namespaces of Ludus that are registered on demand, with the function that does it."""

RESERVED = (ROOT, "builtin", "ludus", "root")
"""Namespaces that plugins cannot have."""

_NAME = re.compile(r"[\w-]+", re.ASCII)
_loaded: set[tuple[str, str]] = set()
_lock = threading.RLock()


def _entry_points() -> EntryPoints:
    # Importing importlib.metadata takes longer than the rest of the registry.
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def plugin_namespaces() -> list[str]:
    """Return the namespaces of Ludus and of installed plugins, without importing them."""
    points = {**_announced_to_gymnasium(), **_announced()}
    return sorted({*OWN, *(name for name in points if _why_ignored(name, points[name]) is None)})


def root_packages() -> list[str]:
    """Return the packages with plugins without a namespace, without importing them."""
    return sorted({_package(point) for point in _announced().get(ROOT, [])})


def _announced() -> dict[str, list[EntryPoint]]:
    """Return the entry points by name, without duplicates."""
    found: dict[str, list[EntryPoint]] = {}
    seen = set()
    for point in _entry_points():
        key = (point.name, point.value, _package(point))
        if key not in seen:
            seen.add(key)
            found.setdefault(point.name, []).append(point)
    return found


def _announced_to_gymnasium() -> dict[str, list[EntryPoint]]:
    """Return the entry points that are declared for Gymnasium only, by namespace."""
    from importlib.metadata import entry_points

    taken = _announced()
    found: dict[str, list[EntryPoint]] = {}
    for point in dict.fromkeys(entry_points(group=GYMNASIUM_GROUP)):
        if point.name not in taken and _why_ignored(point.name, [point]) is None:
            found.setdefault(point.name, []).append(point)
    return found


def _package(point: EntryPoint) -> str:
    return excerpt(point.dist.name, 100) if point.dist else "a package without metadata"


def _why_ignored(name: str, points: list[EntryPoint]) -> str | None:
    """Return why a namespace is ignored, ``None`` if it is valid."""
    if not _NAME.fullmatch(name):
        return "it is not valid in an id"
    if _folded(name) in {_folded(one) for one in (*RESERVED, *OWN, *_own_namespaces())}:
        return "it is one of Ludus, or similar to one"
    packages = sorted({_package(point) for point in points})
    if len(points) > 1:
        return f"several packages declare it ({', '.join(packages)}); uninstall all but one"
    return None


def _own_namespaces() -> set[str]:
    """Return the namespaces of the environments that come with Ludus."""
    own = (spec for spec in registry.values() if spec.security.trust == "builtin")
    return {spec.namespace for spec in own if spec.namespace is not None}


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def load_own(ns: str | None = None, *, everything: bool = False) -> None:
    """Register the environments of one of Ludus's own namespaces, or of all of them."""
    for name, target in OWN.items():
        if everything or name == ns:
            module, _, function = target.partition(":")
            getattr(importlib.import_module(module), function)()


def load_plugins(ns: str | None = None, *, everything: bool = False) -> None:
    """Load the plugin of a namespace, or all plugins.

    Each plugin is loaded once. If one fails, a warning names it and the others are still loaded.

    Args:
        ns: The namespace. Plugins without a namespace are loaded only with ``everything``.
        everything: Whether to load all plugins, with a warning for each that is ignored.

    Raises:
        RegistrationError: Several packages declare the namespace.
    """
    load_own(ns, everything=everything)
    # For Ludus's own namespaces the metadata of installed packages is not read.
    if not everything and (ns is None or ns in OWN or ns in _own_namespaces()):
        return
    with _lock:
        announced = _announced()
        if not everything and ns not in announced:
            announced = _announced_to_gymnasium()
        if everything:
            for name, points in announced.items():
                ignored = None if name == ROOT else _why_ignored(name, points)
                if ignored is None:
                    _load_all(points)
                else:
                    _warn_ignored(name, points, ignored)
        elif ns in announced:
            points = announced[ns]
            ignored = _why_ignored(ns, points)
            if ignored is None:
                _load_all(points)
            elif len(points) > 1:
                raise RegistrationError(
                    f"The namespace {ns!r} is not loaded: {ignored}, or name the module to import: "
                    f"make('my_package:{ns}/...')."
                )


def _warn_ignored(name: str, points: list[EntryPoint], reason: str) -> None:
    for point in points:
        if (key := (name, point.value)) not in _loaded:
            _loaded.add(key)
            logger.warn(
                f"The namespace {name!r:.80} of the package {_package(point)} is ignored: {reason}."
            )


def _load_all(points: list[EntryPoint]) -> None:
    for point in points:
        key = (point.name, point.value)
        if key in _loaded:
            continue
        _loaded.add(key)
        try:
            _load(point)
        except Exception as problem:  # the plugin's code can raise anything; load the others
            logger.warn(
                f"Plugin {point.name!r} ({point.value!r:.200}) could not register its "
                f"environments: {type(problem).__name__}: {excerpt(str(problem), 500)}. "
                f"Reinstall or uninstall the package {_package(point)}."
            )


def _load_in_gymnasium(point: EntryPoint) -> None:
    # If the import alias is installed, the plugin registers in Ludus.
    with plugin_registration():
        target = point.load()
        registration = importlib.import_module("gymnasium.envs.registration")
        # Most packages register when they are imported; do not register twice.
        if not any(spec.namespace == point.name for spec in registration.registry.values()):
            with registration.namespace(point.name):
                target()
    adopt_specs()


def _load(point: EntryPoint) -> None:
    if point.group == GYMNASIUM_GROUP:
        _load_in_gymnasium(point)
        return
    with plugin_registration(), namespace(None if point.name == ROOT else point.name):
        target = point.load()
        if callable(target):
            target = target()
        if target is None:
            return
        if not isinstance(target, Iterable):
            raise RegistrationError(
                f"the entry point is a {type(target).__name__}; expected a function or an iterable "
                "of EnvSpec"
            )
        for spec in target:
            if not isinstance(spec, EnvSpec):
                raise RegistrationError(f"expected EnvSpec, got a {type(spec).__name__}")
            add_spec(spec)
