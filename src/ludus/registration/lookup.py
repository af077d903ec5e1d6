"""Search for the spec of an id, and whose code must run in a sandbox."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from ludus import logger
from ludus.core.ids import get_env_id, parse_env_id
from ludus.core.spec import EnvSpec
from ludus.errors import Error, UntrustedEnv
from ludus.registration.discovery import (
    OWN,
    load_own,
    load_plugins,
    plugin_namespaces,
    root_packages,
)
from ludus.registration.foreign import adopt_specs, is_adopted, module_named_by, packages_to_import
from ludus.registration.table import explain_missing, find_highest_version, registry

if TYPE_CHECKING:
    from ludus.untrusted.options import Sandboxing

__all__ = ["decide", "find_known", "find_spec", "spec"]

_LEVELS = ("", "default", "strict")


def decide(
    wanted: str | EnvSpec, sandbox: Sandboxing | None
) -> tuple[str, EnvSpec | None, Sandboxing | None]:
    """Return the id, its spec, and the sandbox options or ``None``.

    The lookup imports third-party code only for an environment that runs without a sandbox. The
    spec of a sandboxed environment is ``None`` if it cannot be found otherwise.

    Raises:
        UntrustedEnv: The environment requires a sandbox.
        Error: There is no such environment.
    """
    env_id = wanted.id if isinstance(wanted, EnvSpec) else wanted
    if isinstance(wanted, EnvSpec):
        spec: EnvSpec | None = wanted
    elif _is_strict() or sandbox:
        spec = find_known(wanted)
    else:
        spec = find_spec(wanted)
    if spec is None:
        _check_could_exist(env_id)
    trust = "plugin" if spec is None else spec.security.trust
    if sandbox is None:
        # The spec of a sandboxed environment records its options, so that make(spec) reuses them.
        recorded = None if spec is None else spec.kwargs.get("sandbox")
        sandbox = recorded or (trust != "builtin" and _is_strict()) or None
    needs_sandbox = trust == "untrusted" or (trust == "plugin" and _is_strict())
    if needs_sandbox and not sandbox:
        why = "it is registered as untrusted" if trust == "untrusted" else "LUDUS_TRUST is strict"
        raise UntrustedEnv(
            f"{env_id} requires a sandbox: {why}. Use make({env_id!r}, sandbox=True), or see "
            "`ludus sandbox doctor` if no sandbox backend works."
        )
    if needs_sandbox and _isolates_nothing(sandbox):
        raise UntrustedEnv(f"{env_id} requires a sandbox; the 'process' backend does not isolate.")
    return env_id, spec, sandbox or None


def _is_strict() -> bool:
    level = os.environ.get("LUDUS_TRUST", "").lower()
    if level not in _LEVELS:
        raise Error(f"LUDUS_TRUST is {level!r}; expected 'default' or 'strict'.")
    return level == "strict"


def _isolates_nothing(sandbox: Sandboxing | None) -> bool:
    return "process" in (sandbox, getattr(sandbox, "backend", None))


def _check_could_exist(env_id: str) -> None:
    """Raise an error for an id that no plugin declares, without starting a sandbox."""
    if ":" in env_id:
        return
    announced = plugin_namespaces()
    ns, slash, _ = env_id.partition("/")
    if not slash or ns in OWN or ns not in announced:
        raise explain_missing(
            env_id, plugin_namespaces=announced, root_packages=() if slash else root_packages()
        )


def spec(env_id: str) -> EnvSpec:
    """Return the registered spec of an id.

    Raises:
        Error: There is no such environment; subclass and message name the unknown part.

    >>> spec("CartPole-v1").max_episode_steps
    500
    """
    found = _get(env_id)
    if found is None:
        raise _missing(env_id)
    return found


def find_spec(env_id: str) -> EnvSpec:
    """Return the spec of ``[module:]id``; the version is optional.

    ``module`` is imported first, to register its environments. Without a version, the latest one is
    used, with a warning. An old version gives a warning as well.

    Raises:
        ModuleNotFoundError: ``module`` cannot be imported.
        Error: There is no such environment.
    """
    module, colon, name_part = env_id.partition(":")
    if colon:
        _import_registering(module)
    else:
        name_part = env_id
    found = _chosen(name_part, _get(name_part))
    if found is None:
        raise _missing(name_part)
    return found


def find_known(env_id: str) -> EnvSpec | None:
    """Return the spec like :func:`find_spec`, or ``None`` if third-party code must be imported."""
    if ":" in env_id:
        return None
    if env_id not in registry:
        load_own(parse_env_id(env_id)[0])
    if env_id not in registry or is_adopted(env_id):
        adopt_specs()
    return _chosen(env_id, registry.get(env_id))


def _chosen(name_part: str, found: EnvSpec | None) -> EnvSpec | None:
    """Return the spec of an id, or of its latest version, and warn about old versions."""
    ns, name, version = parse_env_id(name_part)
    latest = find_highest_version(ns, name)
    if latest is not None and version is None:
        newest = get_env_id(ns, name, latest)
        logger.warn(
            f"Using the latest versioned environment `{newest}` instead of the unversioned "
            f"environment `{name_part}`."
        )
        return registry[newest]
    if found is not None and version is not None and latest is not None and latest > version:
        logger.deprecation(
            f"The environment {name_part} is out of date. You should consider upgrading to "
            f"version `v{latest}`."
        )
    return found


def _get(env_id: str) -> EnvSpec | None:
    if env_id not in registry:
        load_plugins(parse_env_id(env_id)[0])
    if env_id not in registry or is_adopted(env_id):
        adopt_specs()
    if env_id not in registry and (module := module_named_by(env_id)) is not None:
        _import_registering(module)
        adopt_specs()
    return registry.get(env_id)


def _missing(env_id: str) -> Error:
    packages = root_packages() if "/" not in env_id else ()
    return explain_missing(
        env_id,
        plugin_namespaces=plugin_namespaces(),
        root_packages=packages,
        unimported=packages_to_import(env_id.rpartition("/")[2]),
    )


def _import_registering(module: str) -> None:
    if not all(part.isidentifier() for part in module.split(".")):
        raise Error(
            f"Malformed environment ID: {module!r} before the colon is not the name of a module. "
            "Expected [module:][namespace/]name[-vN], for example 'my_package.envs:Maze-v0'."
        )
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError(
            f"{problem}. Environment registration via importing a module failed. Check whether "
            f"{module!r} is installed and registers its environments when imported.",
            name=problem.name,
            path=problem.path,
        ) from problem
