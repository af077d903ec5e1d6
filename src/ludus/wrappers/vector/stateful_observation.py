"""Normalises batches of observations to mean zero and variance one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.types import ActType, ArrayType
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.vector_wrapper import VectorObservationWrapper
from ludus.errors import InvalidBound
from ludus.spaces import Box, batch_space
from ludus.wrappers.mixins import SavesObjects
from ludus.wrappers.utils import RunningMeanStd

__all__ = ["NormalizeObservation"]

_Array = npt.NDArray[Any]


class NormalizeObservation(
    SavesObjects,
    VectorObservationWrapper[_Array, ActType, _Array, ArrayType],
    RecordConstructorArgs,
):
    """Normalise observations by the mean and variance of all observations seen so far.

    The statistics are in :attr:`obs_rms`; set :attr:`update_running_mean` to ``False`` to freeze
    them, for instance for evaluation.

    Args:
        env: The vector environment to wrap; its autoreset mode must be next-step, so that every
            observation is counted exactly once.
        epsilon: Added to the variance before its root is taken.

    Raises:
        InvalidBound: ``epsilon`` is not positive.
        ValueError: The inner vector environment has another autoreset mode.
    """

    state_fields: ClassVar[tuple[str, ...]] = ("update_running_mean",)
    saved_objects = ("obs_rms",)

    update_running_mean: bool = True
    """Whether the statistics are still updated."""

    def __init__(self, env: VectorEnv[_Array, ActType, ArrayType], epsilon: float = 1e-8) -> None:
        if epsilon <= 0:
            raise InvalidBound(f"`epsilon` should be strictly positive. Received {epsilon}")
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if mode is not AutoresetMode.NEXT_STEP:
            raise ValueError(
                "NormalizeObservation expected env.metadata['autoreset_mode'] to be "
                f"AutoresetMode.NEXT_STEP, got {mode}"
            )
        shape = self.single_observation_space.shape
        self.single_observation_space = Box(-np.inf, np.inf, shape, np.float32)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.obs_rms = RunningMeanStd(shape=self.single_observation_space.shape, dtype=np.float32)
        self.epsilon = epsilon
        # Compiled batches have native code for small observations.
        find = getattr(env.unwrapped, "normaliser", None)
        self._native = None if find is None else find(shape)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Array, dict[str, Any]]:
        """Reset all environments.

        Raises:
            ValueError: A ``reset_mask`` leaves some out, whose last observation would be counted
                twice.
        """
        if options is not None and not np.all(options.get("reset_mask", True)):
            raise ValueError(
                "NormalizeObservation does not support partial resets. The 'reset_mask' must "
                f"contain all True values, got {options['reset_mask']}."
            )
        return super().reset(seed=seed, options=options)

    def observations(self, observations: _Array) -> _Array:
        """Update the statistics, unless frozen, and return the normalised observations."""
        if self._native is not None and self._native.fits(observations):
            return self._normalised(self._native, observations)
        if self.update_running_mean:
            self.obs_rms.update(observations)
        centred = observations - self.obs_rms.mean
        scaled: _Array = centred / np.sqrt(self.obs_rms.var + self.epsilon)
        return scaled.astype(np.float32)

    def _normalised(self, native: Any, observations: _Array) -> _Array:
        statistics = self.obs_rms
        count = statistics.count if self.update_running_mean else None
        scaled: _Array
        scaled, (mean, var) = native(
            observations, (statistics.mean, statistics.var), count, self.epsilon
        )
        if count is not None:
            statistics.mean, statistics.var = mean, var
            statistics.count = count + len(observations)
        return scaled
