"""The environments that come with Ludus, one folder per family."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ludus import registration as registry_of_specs

__all__ = ["EnvSpec", "make", "make_vec", "pprint_registry", "register", "registry", "spec"]


def __getattr__(name: str) -> Any:
    # Gymnasium exports these here.
    if name == "registration":
        return import_module(f"{__name__}.registration")
    if name == "registry":  # with what packages have registered in Gymnasium
        return import_module("ludus.registration.foreign").adopt_specs()
    if name in __all__:
        return getattr(registry_of_specs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
