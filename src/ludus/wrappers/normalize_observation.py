"""Normalises observations to mean zero and variance one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import (
    ActType,
    Env,
    ObservationWrapper,
    ObsType,
    RecordConstructorArgs,
    WrapperObsType,
)
from ludus.errors import InvalidBound
from ludus.spaces import Box
from ludus.wrappers.running_statistics import FreezableStatistics, RunningMeanStd, add_sample

__all__ = ["NormalizeObservation"]


class NormalizeObservation(
    FreezableStatistics,
    ObservationWrapper[WrapperObsType, ActType, ObsType],
    RecordConstructorArgs,
):
    """Normalise observations by the mean and variance of all seen so far, as float32.

    ``update_running_mean = False`` freezes the statistics, for example during evaluation.

    Args:
        env: The environment; its observations are arrays.
        epsilon: Added to the variance before dividing.

    Raises:
        InvalidBound: ``epsilon`` is not positive.
        ValueError: The observations are not arrays.
    """

    state_fields = ("_update_running_mean",)
    saved_objects = ("obs_rms",)

    def __init__(self, env: Env[ObsType, ActType], epsilon: float = 1e-8) -> None:
        if epsilon <= 0:
            raise InvalidBound(f"`epsilon` must be positive, got {epsilon}.")
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        super().__init__(env)
        shape = env.observation_space.shape
        if shape is None:
            raise ValueError(
                "NormalizeObservation needs an observation space with a shape, got "
                f"{env.observation_space}. Flatten the observations first (FlattenObservation)."
            )
        space: Any = Box(-np.inf, np.inf, shape=shape, dtype=np.float32)
        self.observation_space = space
        self.obs_rms = RunningMeanStd(shape=shape, dtype=np.float32)
        self.epsilon = epsilon
        self._update_running_mean = True

    def observation(self, observation: Any) -> Any:
        """Return the normalised observation, after adding it to the statistics."""
        if self._update_running_mean:
            add_sample(self.obs_rms, observation)
        spread: npt.NDArray[Any] = np.sqrt(self.obs_rms.var + self.epsilon)
        return np.float32((observation - self.obs_rms.mean) / spread)
