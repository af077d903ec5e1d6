"""JAX vector environments, used from NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.vector_env import VectorEnv
from ludus.optional import require
from ludus.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["JaxToNumpy"]


class JaxToNumpy(ArrayConversion):
    """Take actions and return everything else as NumPy arrays, around a JAX vector environment.

    Raises:
        DependencyNotInstalled: JAX is not installed.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, env_xp=require("jax.numpy", extra="jax"), target_xp=np)
