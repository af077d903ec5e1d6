"""Skips frames and returns the maximum of the last two."""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper, WrapperObsType
from ludus.wrappers.arguments import check_count

__all__ = ["MaxAndSkipObservation"]


class MaxAndSkipObservation(
    Wrapper[WrapperObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Repeat each action ``skip`` times; return the maximum of the last two observations.

    Rewards are summed. If the episode ends before the last two repetitions, the maximum includes
    observations of the previous step.

    Raises:
        TypeError: ``skip`` is not an integer.
        ValueError: It is below two, or the observations are not arrays.
    """

    state_fields = ("_obs_buffer",)

    def __init__(self, env: Env[ObsType, ActType], skip: int = 4) -> None:
        RecordConstructorArgs.__init__(self, skip=skip)
        super().__init__(env)
        check_count("skip", skip, at_least=2)
        space = env.observation_space
        if space.shape is None:
            raise ValueError(
                f"MaxAndSkipObservation needs an observation space with a shape, got {space}."
            )
        self._skip = skip
        self._obs_buffer: npt.NDArray[Any] = np.zeros((2, *space.shape), dtype=space.dtype)

    def step(self, action: ActType) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Repeat the action; flags and info are those of the last repetition."""
        total = 0.0
        for left in range(self._skip - 1, -1, -1):
            observation, reward, terminated, truncated, info = self.env.step(action)
            if left < 2:
                self._obs_buffer[1 - left] = observation
            total += float(reward)
            if terminated or truncated:
                break
        return np.maximum(*self._obs_buffer), total, terminated, truncated, info
