"""Rewards of a steady size."""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, State, Wrapper
from ludus.errors import InvalidBound
from ludus.wrappers.running_statistics import RunningMeanStd, add_sample
from ludus.wrappers.saved_fields import take_fields

__all__ = ["NormalizeReward"]


class NormalizeReward(Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs):
    """Divide rewards by the standard deviation of the discounted return seen so far.

    ``update_running_mean = False`` freezes the statistics, for example during evaluation.

    Args:
        env: The environment.
        gamma: Discount of the return.
        epsilon: Added to the variance before dividing.

    Raises:
        InvalidBound: ``gamma`` is not in [0, 1], or ``epsilon`` not positive.
    """

    state_fields = ("_update_running_mean", "discounted_reward")

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

    @property
    def update_running_mean(self) -> bool:
        """Whether rewards change the statistics."""
        return self._update_running_mean

    @update_running_mean.setter
    def update_running_mean(self, setting: bool) -> None:
        self._update_running_mean = setting

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and scale the reward; it counts towards its own statistics."""
        reward: Any
        observation, reward, terminated, truncated, info = self.env.step(action)
        kept = self.discounted_reward * self.gamma * (1 - terminated)
        self.discounted_reward = kept + float(reward)
        if self._update_running_mean:
            add_sample(self.return_rms, self.discounted_reward[0])
        scaled = reward / np.sqrt(self.return_rms.var + self.epsilon)
        return observation, scaled, terminated, truncated, info

    def _save_state(self) -> State:
        return {**super()._save_state(), "return_rms": self.return_rms.get_state()}

    def _load_state(self, fields: State) -> None:
        (statistics,), rest = take_fields(self, fields, "return_rms")
        super()._load_state(rest)
        self.return_rms.set_state(statistics)
