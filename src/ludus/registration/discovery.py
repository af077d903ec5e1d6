"""Environments of other packages, found by the entry-point group ``ludus.envs``.

A package announces itself in its metadata::

    [project.entry-points."ludus.envs"]
    my_namespace = "my_package.registration:specs"

The target is a function to call, or an iterable of :class:`EnvSpec`; whatever it registers lands
in the namespace (``__root__``: in none). A plugin is imported when an id in its namespace is asked
for, or everything is listed, and never otherwise: not for an id that is mistyped, has no namespace
or belongs to Ludus. Names of namespaces come from metadata alone. Ignored are namespaces of Ludus,
names that look like them or that no id can have, and those that several packages announce.

Namespaces that packages announce to Gymnasium, in the group ``gymnasium.envs``, are loaded in the
same way when one of their ids is asked for, and are not loaded when everything is listed.
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
"""Namespaces of Ludus that are filled when one of their ids is missed, and by what."""

RESERVED = (ROOT, "builtin", "ludus", "root")
"""Names that no plugin's namespace has."""

_NAME = re.compile(r"[\w-]+", re.ASCII)
_loaded: set[tuple[str, str]] = set()
_lock = threading.RLock()


def _entry_points() -> EntryPoints:
    # Reading package metadata takes longer to import than the rest of the registry together.
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def plugin_namespaces() -> list[str]:
    """Return the namespaces that Ludus and installed packages announce, importing none."""
    points = {**_announced_to_gymnasium(), **_announced()}
    return sorted({*OWN, *(name for name in points if _why_ignored(name, points[name]) is None)})


def root_packages() -> list[str]:
    """Return the packages that announce environments without a namespace, importing none."""
    return sorted({_package(point) for point in _announced().get(ROOT, [])})


def _announced() -> dict[str, list[EntryPoint]]:
    """Return the plugins by the name that they announce, each once."""
    found: dict[str, list[EntryPoint]] = {}
    seen = set()
    for point in _entry_points():
        key = (point.name, point.value, _package(point))
        if key not in seen:
            seen.add(key)
            found.setdefault(point.name, []).append(point)
    return found


def _announced_to_gymnasium() -> dict[str, list[EntryPoint]]:
    """Return the namespaces that packages announce to Gymnasium alone, and what registers them."""
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
    """Return why a name is not a plugin's namespace, ``None`` if it is."""
    if not _NAME.fullmatch(name):
        return "no id can have it as its namespace"
    if _folded(name) in {_folded(one) for one in (*RESERVED, *OWN, *_own_namespaces())}:
        return "it is one of Ludus's own, or looks like one"
    packages = sorted({_package(point) for point in points})
    if len(points) > 1:
        return f"several announce it ({', '.join(packages)}); uninstall all but one"
    return None


def _own_namespaces() -> set[str]:
    """Return the namespaces of the environments that come with Ludus."""
    own = (spec for spec in registry.values() if spec.security.trust == "builtin")
    return {spec.namespace for spec in own if spec.namespace is not None}


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def load_own(ns: str | None = None, *, everything: bool = False) -> None:
    """Register what Ludus finds for a namespace of its own now, or for all of them."""
    for name, target in OWN.items():
        if everything or name == ns:
            module, _, function = target.partition(":")
            getattr(importlib.import_module(module), function)()


def load_plugins(ns: str | None = None, *, everything: bool = False) -> None:
    """Register the environments of the plugin that owns a namespace, or of all plugins.

    Each plugin is loaded once, after what Ludus itself has there. One that fails is reported by a
    warning that names it, and does not keep the others from loading.

    Args:
        ns: A namespace. Without one there is nothing to load: environments of plugins that have no
            namespace come with everything.
        everything: All plugins, with a warning for each that is ignored.

    Raises:
        RegistrationError: Several packages announce the namespace.
    """
    load_own(ns, everything=everything)
    # Names of Ludus do not even cause a look at what is installed.
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
                f"The package {_package(point)} announces environments as {name!r:.80}, which is "
                f"ignored: {reason}."
            )


def _load_all(points: list[EntryPoint]) -> None:
    for point in points:
        key = (point.name, point.value)
        if key in _loaded:
            continue
        _loaded.add(key)
        try:
            _load(point)
        except Exception as problem:  # the plugin's own code; others still load
            logger.warn(
                f"Plugin {point.name!r} ({point.value!r:.200}) could not register its "
                f"environments: {type(problem).__name__}: {excerpt(str(problem), 500)}. "
                f"Reinstall or uninstall the package {_package(point)}."
            )


def _load_in_gymnasium(point: EntryPoint) -> None:
    # Where Ludus is served as Gymnasium, the plugin registers in Ludus.
    with plugin_registration():
        target = point.load()
        registration = importlib.import_module("gymnasium.envs.registration")
        # Most packages register when they are imported; the announced function would do it twice.
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
                f"the entry point gives a {type(target).__name__}; expected a function to call "
                "or an iterable of EnvSpec"
            )
        for spec in target:
            if not isinstance(spec, EnvSpec):
                raise RegistrationError(f"expected EnvSpec, got a {type(spec).__name__}")
            add_spec(spec)
