"""JAX environments, used from NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core import Env, RecordConstructorArgs
from ludus.optional import require
from ludus.wrappers.array_conversion import ArrayConversion, array_conversion, module_namespace

__all__ = ["JaxToNumpy", "jax_to_numpy", "numpy_to_jax"]


def jax_to_numpy(value: Any, device: Any = None) -> Any:
    """Return ``value`` with every array in it as a NumPy array."""
    return array_conversion(value, module_namespace(np), device)


def numpy_to_jax(value: Any, device: Any = None) -> Any:
    """Return ``value`` with every array in it as a JAX array."""
    return array_conversion(value, module_namespace(require("jax.numpy", extra="jax")), device)


class JaxToNumpy(ArrayConversion):
    """Take actions and return observations as NumPy arrays, around a JAX environment.

    Raises:
        DependencyNotInstalled: JAX is not installed.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, env_xp=require("jax.numpy", extra="jax"), target_xp=np)
