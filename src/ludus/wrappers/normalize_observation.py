"""Observations with mean zero and variance one."""

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
    State,
    WrapperObsType,
)
from ludus.errors import InvalidBound
from ludus.spaces import Box
from ludus.wrappers.running_statistics import RunningMeanStd, add_sample
from ludus.wrappers.saved_fields import take_fields

__all__ = ["NormalizeObservation"]


class NormalizeObservation(
    ObservationWrapper[WrapperObsType, ActType, ObsType], RecordConstructorArgs
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

    def __init__(self, env: Env[ObsType, ActType], epsilon: float = 1e-8) -> None:
        if epsilon <= 0:
            raise InvalidBound(f"`epsilon` must be positive, got {epsilon}.")
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        super().__init__(env)
        shape = env.observation_space.shape
        if shape is None:
            raise ValueError(
                f"Arrays are normalised, but the observation space has no shape: "
                f"{env.observation_space}. Flatten the observations first (FlattenObservation)."
            )
        space: Any = Box(-np.inf, np.inf, shape=shape, dtype=np.float32)
        self.observation_space = space
        self.obs_rms = RunningMeanStd(shape=shape, dtype=np.float32)
        self.epsilon = epsilon
        self._update_running_mean = True

    @property
    def update_running_mean(self) -> bool:
        """Whether observations change the statistics."""
        return self._update_running_mean

    @update_running_mean.setter
    def update_running_mean(self, setting: bool) -> None:
        self._update_running_mean = setting

    def observation(self, observation: Any) -> Any:
        """Return the normalised observation; it counts towards its own statistics."""
        if self._update_running_mean:
            add_sample(self.obs_rms, observation)
        spread: npt.NDArray[Any] = np.sqrt(self.obs_rms.var + self.epsilon)
        return np.float32((observation - self.obs_rms.mean) / spread)

    def _save_state(self) -> State:
        return {**super()._save_state(), "obs_rms": self.obs_rms.get_state()}

    def _load_state(self, fields: State) -> None:
        (statistics,), rest = take_fields(self, fields, "obs_rms")
        super()._load_state(rest)
        self.obs_rms.set_state(statistics)
