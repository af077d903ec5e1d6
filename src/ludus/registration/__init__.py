"""Registration, search and creation of environments.

The table of specs is imported at once; the code that builds and lists environments on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ludus.core.ids import get_env_id, parse_env_id
from ludus.core.spec import EnvSpec, SecuritySpec, WrapperSpec
from ludus.lazy import lazy_names
from ludus.registration import register_env
from ludus.registration.register_env import add_spec, namespace, register, register_envs
from ludus.registration.table import find_highest_version, registry

if TYPE_CHECKING:
    from ludus.registration.discovery import load_plugins, plugin_namespaces
    from ludus.registration.entry_point import load_env_creator
    from ludus.registration.listing import family_of, pprint_registry, search
    from ludus.registration.lookup import find_spec, spec
    from ludus.registration.make_env import make
    from ludus.registration.make_vec_env import VectorizeMode, make_vec

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
    "make": "make_env",
    **dict.fromkeys(("EnvCreator", "VectorEnvCreator", "load_env_creator"), "entry_point"),
    **dict.fromkeys(("VectorizeMode", "make_vec"), "make_vec_env"),
    **dict.fromkeys(("family_of", "pprint_registry", "search"), "listing"),
    **dict.fromkeys(("find_spec", "spec"), "lookup"),
    **dict.fromkeys(("load_plugins", "plugin_namespaces"), "discovery"),
}

_load = lazy_names(__name__, _MODULES)


def __getattr__(name: str) -> Any:
    if name == "current_namespace":  # a variable, so it is read at every access
        return register_env.current_namespace
    return _load(name)
