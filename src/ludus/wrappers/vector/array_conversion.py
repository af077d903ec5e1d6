"""Vector environments of one array library, used from another one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.types import ActType, ObsType, WrapperActType, WrapperObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.wrappers import array_conversion as single
from ludus.wrappers.array_conversion import array_conversion, module_namespace

__all__ = ["ArrayConversion"]


class ArrayConversion(
    VectorWrapper[WrapperObsType, WrapperActType, ObsType, ActType, Any], RecordConstructorArgs
):
    """Take actions and return everything else as arrays of another library.

    Args:
        env: A vector environment that computes with ``env_xp``.
        env_xp: The environment's library: ``numpy``, ``torch``, ``jax.numpy``, …
        target_xp: The library of what is returned.
        env_device: Where actions go.
        target_device: Where observations, rewards, flags and infos go.

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
        # Modules have no copies.
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            env_xp=env_xp,
            target_xp=target_xp,
            env_device=env_device,
            target_device=target_device,
        )
        super().__init__(env)
        self._env_xp = module_namespace(env_xp)
        self._target_xp = module_namespace(target_xp)
        self._env_device = env_device
        self._target_device = target_device

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Reset with converted options."""
        if options:
            options = array_conversion(options, self._env_xp, self._env_device)
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._converted(observations), self._converted(infos)

    def step(self, actions: WrapperActType) -> tuple[WrapperObsType, Any, Any, Any, dict[str, Any]]:
        """Step with converted actions."""
        result = self.env.step(array_conversion(actions, self._env_xp, self._env_device))
        observations, rewards, terminations, truncations, infos = map(self._converted, result)
        return observations, rewards, terminations, truncations, infos

    def _converted(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._converted(part) for key, part in value.items()}
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            # No other library has arrays of objects, such as the infos' "final_obs".
            entries = np.empty_like(value)
            for index, entry in enumerate(value):
                entries[index] = self._converted(entry)
            return entries
        return array_conversion(value, self._target_xp, self._target_device)

    __getstate__ = single.ArrayConversion.__getstate__
    __setstate__ = single.ArrayConversion.__setstate__
