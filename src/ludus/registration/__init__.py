"""Registering, finding and building environments.

The table of specs loads at once; what builds and lists environments when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ludus.core.ids import get_env_id, parse_env_id
from ludus.core.spec import EnvSpec, SecuritySpec, WrapperSpec
from ludus.registration import add
from ludus.registration.add import add_spec, namespace, register, register_envs
from ludus.registration.table import find_highest_version, registry

if TYPE_CHECKING:
    from ludus.registration.build import make
    from ludus.registration.build_vector import VectorizeMode, make_vec
    from ludus.registration.discovery import load_plugins, plugin_namespaces
    from ludus.registration.entry_point import load_env_creator
    from ludus.registration.listing import family_of, pprint_registry, search
    from ludus.registration.lookup import find_spec, spec

    current_namespace: str | None

__all__ = [
    "EnvSpec",
    "SecuritySpec",
    "VectorizeMode",
    "WrapperSpec",
    "add_spec",
    "current_namespace",
    "family_of",
    "find_highest_version",
    "find_spec",
    "get_env_id",
    "load_env_creator",
    "load_plugins",
    "make",
    "make_vec",
    "namespace",
    "parse_env_id",
    "plugin_namespaces",
    "pprint_registry",
    "register",
    "register_envs",
    "registry",
    "search",
    "spec",
]

_MODULES = {
    "VectorizeMode": "build_vector",
    "EnvCreator": "entry_point",
    "VectorEnvCreator": "entry_point",
    "family_of": "listing",
    "find_spec": "lookup",
    "load_env_creator": "entry_point",
    "load_plugins": "discovery",
    "make": "build",
    "make_vec": "build_vector",
    "plugin_namespaces": "discovery",
    "pprint_registry": "listing",
    "search": "listing",
    "spec": "lookup",
}


def __getattr__(name: str) -> Any:
    if name == "current_namespace":  # changes while a plugin loads, so it is read when asked for
        return add.current_namespace
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
