"""Vector wrappers that convert between the arrays of NumPy, JAX, PyTorch and others."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.types import ActType, ObsType, WrapperActType, WrapperObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.optional import require
from ludus.wrappers.array_conversion import ConvertsArrays

__all__ = ["ArrayConversion", "JaxToNumpy", "JaxToTorch", "NumpyToTorch"]


class ArrayConversion(
    ConvertsArrays, VectorWrapper[WrapperObsType, WrapperActType, ObsType, ActType, Any]
):
    """Take actions and return everything else as arrays of another library.

    Args:
        env: A vector environment that computes with ``env_xp``.
        env_xp: The environment's library: ``numpy``, ``torch``, ``jax.numpy``, …
        target_xp: The library of the returned arrays.
        env_device: Device of the converted actions.
        target_device: Device of observations, rewards, flags and infos.

    Raises:
        DependencyNotInstalled: array-api-compat is not installed.
        ValueError: A library has no Array API namespace.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Any],
        env_xp: ModuleType,
        target_xp: ModuleType,
        env_device: Any = None,
        target_device: Any = None,
    ) -> None:
        self._set_libraries(env_xp, target_xp, env_device, target_device)
        VectorWrapper.__init__(self, env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Reset with converted options."""
        if options:
            options = self._to_env(options)
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._to_target(observations), self._to_target(infos)

    def step(self, actions: WrapperActType) -> tuple[WrapperObsType, Any, Any, Any, dict[str, Any]]:
        """Step with converted actions."""
        result = self.env.step(self._to_env(actions))
        observations, rewards, terminations, truncations, infos = map(self._to_target, result)
        return observations, rewards, terminations, truncations, infos

    def _to_target(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._to_target(part) for key, part in value.items()}
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            # Other libraries have no arrays of objects, such as the infos' "final_obs".
            entries = np.empty_like(value)
            for index, entry in enumerate(value):
                entries[index] = self._to_target(entry)
            return entries
        return super()._to_target(value)


class JaxToNumpy(ArrayConversion):
    """Take actions and return everything else as NumPy arrays, around a JAX vector environment.

    Raises:
        DependencyNotInstalled: JAX is not installed.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, env_xp=require("jax.numpy", extra="jax"), target_xp=np)


class JaxToTorch(ArrayConversion):
    """Take actions and return everything else as tensors, around a JAX vector environment.

    Args:
        device: Device of the tensors: a ``torch.device`` or its name.

    Raises:
        DependencyNotInstalled: JAX or PyTorch is not installed.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], device: Any = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        jax, torch = require("jax.numpy", extra="jax"), require("torch", extra="torch")
        super().__init__(env, env_xp=jax, target_xp=torch, target_device=device)
        self.device = device


class NumpyToTorch(ArrayConversion):
    """Take actions and return everything else as tensors, around a NumPy vector environment.

    Args:
        device: Device of the tensors: a ``torch.device`` or its name.

    Raises:
        DependencyNotInstalled: PyTorch is not installed.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], device: Any = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        torch = require("torch", extra="torch")
        super().__init__(env, env_xp=np, target_xp=torch, target_device=device)
        self.device = device
