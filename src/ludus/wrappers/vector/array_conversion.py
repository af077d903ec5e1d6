"""Vector wrappers that convert between the arrays of NumPy, JAX, PyTorch and others."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.types import ActType, ObsType, WrapperActType, WrapperObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.wrappers.array_conversion import ConvertsArrays, import_jax, import_torch

__all__ = ["ArrayConversion", "JaxToNumpy", "JaxToTorch", "NumpyToTorch"]


class ArrayConversion(
    ConvertsArrays, VectorWrapper[WrapperObsType, WrapperActType, ObsType, ActType, Any]
):
    """Take actions and return everything else as arrays of another library.

    Arguments and errors are those of :class:`ludus.wrappers.ArrayConversion`.
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
    """Take actions and return everything else as NumPy arrays, around a JAX vector environment."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, env_xp=import_jax(), target_xp=np)


class JaxToTorch(ArrayConversion):
    """Take actions and return everything else as tensors, around a JAX vector environment."""

    def __init__(self, env: VectorEnv[Any, Any, Any], device: Any = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        super().__init__(env, import_jax(), import_torch(), target_device=device)
        self.device = device


class NumpyToTorch(ArrayConversion):
    """Take actions and return everything else as tensors, around a NumPy vector environment."""

    def __init__(self, env: VectorEnv[Any, Any, Any], device: Any = None) -> None:
        RecordConstructorArgs.__init__(self, device=device)
        super().__init__(env, np, import_torch(), target_device=device)
        self.device = device
