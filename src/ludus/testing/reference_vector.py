"""Reference implementation of a vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core.env import Env
from ludus.core.infos import add_info
from ludus.core.vector_env import AutoresetMode
from ludus.spaces import concatenate, create_empty_array

__all__ = ["ReferenceVector"]


class ReferenceVector:
    """Single environments, stepped in a plain loop."""

    def __init__(self, envs: Sequence[Env[Any, Any]], mode: AutoresetMode) -> None:
        self.envs = envs
        self.mode = mode
        self.done = [False] * len(envs)
        self.observations: list[Any] = [None] * len(envs)

    def reset(
        self, seeds: Sequence[int | None], mask: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments, or those in the mask."""
        infos: dict[str, Any] = {}
        for i, env in enumerate(self.envs):
            if mask is None or mask[i]:
                self.observations[i], info = env.reset(seed=seeds[i])
                add_info(infos, info, i, len(self.envs))
                self.done[i] = False
        return self._batch(), infos

    def step(self, actions: Sequence[Any]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environments and apply autoreset."""
        rewards = np.zeros(len(self.envs))
        terminated = np.zeros(len(self.envs), dtype=np.bool_)
        truncated = np.zeros(len(self.envs), dtype=np.bool_)
        infos: dict[str, Any] = {}
        for i, env in enumerate(self.envs):
            if self.done[i] and self.mode is AutoresetMode.NEXT_STEP:
                obs, info = env.reset()
            else:
                obs, rewards[i], terminated[i], truncated[i], info = env.step(actions[i])
            self.done[i] = bool(terminated[i] or truncated[i])
            if self.done[i] and self.mode is AutoresetMode.SAME_STEP:
                add_info(infos, {"final_obs": obs, "final_info": info}, i, len(self.envs))
                obs, info = env.reset()
            add_info(infos, info, i, len(self.envs))
            self.observations[i] = obs
        return self._batch(), rewards, terminated, truncated, infos

    def close(self) -> None:
        """Close the environments."""
        for env in self.envs:
            env.close()

    def _batch(self) -> Any:
        space = self.envs[0].observation_space
        return concatenate(space, self.observations, create_empty_array(space, len(self.envs)))
