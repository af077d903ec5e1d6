"""Converts Gymnasium environments that are passed where Ludus expects its own.

Gymnasium is never imported here: before it is imported, no object can be one of its environments.
The adapters are in :mod:`ludus.interop.gymnasium`, which is imported when one is needed.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__all__ = ["as_env", "as_vector_env", "gymnasium_wrappers", "loaded_gymnasium", "wrap"]

_ADAPTERS = "ludus.interop.gymnasium"


def loaded_gymnasium() -> ModuleType | None:
    """Return Gymnasium's module if it is imported, ``None`` if not or if it is Ludus's alias."""
    module = sys.modules.get("gymnasium")
    # A module that is still being imported has no classes yet.
    if module is None or getattr(module, "__ludus__", False) or not hasattr(module, "make_vec"):
        return None
    return module


def as_env(env: Any) -> Any:
    """Convert a Gymnasium environment to a Ludus environment; return anything else unchanged."""
    gymnasium = loaded_gymnasium()
    if gymnasium is None or not isinstance(env, gymnasium.Env):
        return env
    return importlib.import_module(_ADAPTERS).from_gymnasium(env)


def as_vector_env(env: Any) -> Any:
    """Convert a Gymnasium vector environment to one of Ludus; return anything else unchanged."""
    gymnasium = loaded_gymnasium()
    if gymnasium is None or not isinstance(env, gymnasium.vector.VectorEnv):
        return env
    return importlib.import_module(_ADAPTERS).from_gymnasium_vector(env)


def gymnasium_wrappers() -> tuple[type, ...]:
    """Return the base classes of Gymnasium's wrappers: one, or none if it is not imported."""
    gymnasium = loaded_gymnasium()
    return () if gymnasium is None else (gymnasium.Wrapper,)


def wrap(env: Any, wrapper: Any, kwargs: dict[str, Any]) -> Any:
    """Apply a wrapper to a Ludus environment.

    Args:
        env: A Ludus environment; for a vector wrapper, a vector environment.
        wrapper: A wrapper class of Ludus or of Gymnasium, or a function that takes ``env``.
        kwargs: The other arguments of the wrapper.

    Returns:
        A Ludus environment. For a Gymnasium wrapper it records ``kwargs``, so that its spec can
        rebuild it.
    """
    if isinstance(wrapper, type) and issubclass(wrapper, gymnasium_wrappers()):
        return importlib.import_module(f"{_ADAPTERS}.adapter").wrapped(env, wrapper, kwargs)
    return as_env(wrapper(env=env, **kwargs))
