"""The registry: a dict of specs by id, and error messages for missing ids."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ludus.core.ids import get_env_id, parse_env_id
from ludus.core.spec import EnvSpec
from ludus.errors import (
    DeprecatedEnv,
    Error,
    NameNotFound,
    NamespaceNotFound,
    RegistrationError,
    VersionNotFound,
)

__all__ = ["check_can_register", "explain_missing", "find_highest_version", "registry"]


def _forgetting(change: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a mutating method of ``dict`` so that it clears the index by name."""

    @functools.wraps(change)
    def method(self: _Registry, *args: Any, **kwargs: Any) -> Any:
        self._by_name = None
        return change(self, *args, **kwargs)

    return method


class _Registry(dict[str, EnvSpec]):
    """A dict with an index by namespace and name.

    Every ``make`` looks up the versions of an environment; a scan would take half of its time.
    """

    _by_name: dict[tuple[str | None, str], list[EnvSpec]] | None = None

    __delitem__ = _forgetting(dict.__delitem__)
    __ior__ = _forgetting(dict.__ior__)
    __setitem__ = _forgetting(dict.__setitem__)
    clear = _forgetting(dict.clear)
    pop = _forgetting(dict.pop)
    popitem = _forgetting(dict.popitem)
    setdefault = _forgetting(dict.setdefault)
    update = _forgetting(dict.update)

    def named(self, ns: str | None, name: str) -> list[EnvSpec]:
        """Return the specs of one environment by version, the unversioned one first."""
        if self._by_name is None:
            self._by_name = {}
            for spec in self.values():
                self._by_name.setdefault((spec.namespace, spec.name), []).append(spec)
        specs = self._by_name.get((ns, name), [])
        specs.sort(key=_version)
        return specs


def _version(spec: EnvSpec) -> int:
    return -1 if spec.version is None else spec.version


registry = _Registry()
"""Every registered spec by its full id."""


def versions_of(ns: str | None, name: str) -> list[EnvSpec]:
    """Return the specs of one environment by version, the unversioned one first."""
    return registry.named(ns, name)


def find_highest_version(ns: str | None, name: str) -> int | None:
    """Return the highest registered version, ``None`` if there is no versioned spec."""
    specs = versions_of(ns, name)
    return specs[-1].version if specs else None


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """Return " Did you mean: ...?" with the most similar known word, or an empty string."""
    import difflib

    # Wrong case is the most common mistake, and difflib counts it as a full mismatch.
    folded = {word.lower(): word for word in known}
    close = difflib.get_close_matches(wanted.lower(), folded, n=1)
    return f" Did you mean: `{folded[close[0]]}`?" if close else ""


def explain_missing(
    env_id: str,
    *,
    plugin_namespaces: Iterable[str] = (),
    root_packages: Iterable[str] = (),
    unimported: Iterable[str] = (),
) -> Error:
    """Return the exception for an id that is not in the registry.

    Args:
        env_id: The id.
        plugin_namespaces: Namespaces of plugins.
        root_packages: Packages with plugins without a namespace, which were not loaded.
        unimported: Modules that may register the id in Gymnasium when imported.
    """
    ns, name, version = parse_env_id(env_id)
    namespaces = {spec.namespace for spec in registry.values() if spec.namespace is not None}
    if ns is not None and ns not in namespaces:
        hint = did_you_mean(ns, namespaces | set(plugin_namespaces))
        hint = hint or _to_import(env_id, unimported)
        hint = hint or f" Have you installed the proper package for {ns}?"
        return NamespaceNotFound(
            f"Namespace {ns} not found.{hint} Import the package that registers it, or see "
            "ludus.pprint_registry()."
        )
    specs = versions_of(ns, name)
    if not specs:
        where = f" in namespace {ns}" if ns else ""
        names = {spec.name for spec in registry.values() if spec.namespace == ns}
        hint = did_you_mean(name, names) or _elsewhere(name)
        hint = hint or _to_import(env_id, unimported) + _unloaded(root_packages)
        return NameNotFound(
            f"Environment `{name}` doesn't exist{where}.{hint} "
            "ludus.search('text') and ludus.pprint_registry() list the environments."
        )
    return _explain_version(get_env_id(ns, name, None), version, specs)


def _elsewhere(name: str) -> str:
    """Return a hint at the same name in another namespace."""
    homes = [spec.id for spec in registry.values() if spec.name.lower() == name.lower()]
    return f" Did you mean: `{homes[0]}`?" if homes else ""


def _to_import(env_id: str, modules: Iterable[str]) -> str:
    named = list(modules)
    if not named:
        return ""
    return (
        f" It may be an environment that {' or '.join(named)} registers in Gymnasium when it is "
        f"imported: import it first, or use make('{named[0]}:{env_id}')."
    )


def _unloaded(packages: Iterable[str]) -> str:
    named = ", ".join(packages)
    return (
        f" These packages have environments without a namespace, which are loaded only by "
        f"ludus.registration.load_plugins(everything=True): {named}."
        if named
        else ""
    )


def _explain_version(full_name: str, version: int | None, specs: list[EnvSpec]) -> Error:
    versioned = [spec for spec in specs if spec.version is not None]
    message = f"Environment version `v{version}` for environment `{full_name}` doesn't exist."
    if specs[0].version is None:
        message += f" It provides the default version `{specs[0].id}`."
        if not versioned:
            return DeprecatedEnv(message)
    if version is None or not versioned:
        return Error(f"No registered env with id: {full_name}.")
    latest = versioned[-1]
    if version > (latest.version or 0):
        known = ", ".join(f"`v{spec.version}`" for spec in versioned)
        return VersionNotFound(f"{message} It provides versioned environments: [ {known} ].")
    return DeprecatedEnv(
        f"Environment version v{version} for `{full_name}` is deprecated. "
        f"Please use `{latest.id}` instead."
    )


def check_can_register(spec: EnvSpec) -> None:
    """Check that a spec does not make ids ambiguous.

    Raises:
        RegistrationError: A versioned and an unversioned spec would share one name.
    """
    others = versions_of(spec.namespace, spec.name)
    if not others:
        return
    if spec.version is not None and others[0].version is None:
        raise RegistrationError(
            f"Can't register the versioned environment `{spec.id}` when the unversioned "
            f"environment `{others[0].id}` of the same name already exists. Choose another "
            "name, or give both a version."
        )
    if spec.version is None and others[-1].version is not None:
        raise RegistrationError(
            f"Can't register the unversioned environment `{spec.id}` when the versioned "
            f"environment `{others[-1].id}` of the same name already exists. `make` with the "
            "unversioned id already returns the latest version."
        )
