"""Scales rewards by the standard deviation of the returns."""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, Wrapper
from ludus.errors import InvalidBound
from ludus.wrappers.mixins import FreezableStatistics
from ludus.wrappers.utils import RunningMeanStd, add_sample

__all__ = ["NormalizeReward"]


class NormalizeReward(
    FreezableStatistics, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Divide rewards by the standard deviation of the discounted return seen so far.

    ``update_running_mean = False`` freezes the statistics, for example during evaluation.

    Args:
        gamma: Discount of the return.
        epsilon: Added to the variance before dividing.

    Raises:
        InvalidBound: ``gamma`` is not in [0, 1], or ``epsilon`` not positive.
    """

    state_fields = ("_update_running_mean", "discounted_reward")
    saved_objects = ("return_rms",)

    def __init__(
        self, env: Env[ObsType, ActType], gamma: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        if not 0 <= gamma <= 1:
            raise InvalidBound(f"`gamma` must lie in the interval [0, 1], got {gamma}.")
        if epsilon <= 0:
            raise InvalidBound(f"`epsilon` must be positive, got {epsilon}.")
        RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        super().__init__(env)
        self.return_rms = RunningMeanStd(shape=())
        self.discounted_reward = np.array([0.0])
        self.gamma = gamma
        self.epsilon = epsilon
        self._update_running_mean = True

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step, add the reward to the statistics and scale it."""
        reward: Any
        observation, reward, terminated, truncated, info = self.env.step(action)
        kept = self.discounted_reward * self.gamma * (1 - terminated)
        self.discounted_reward = kept + float(reward)
        if self._update_running_mean:
            add_sample(self.return_rms, self.discounted_reward[0])
        scaled = reward / np.sqrt(self.return_rms.var + self.epsilon)
        return observation, scaled, terminated, truncated, info
