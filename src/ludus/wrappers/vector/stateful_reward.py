"""Scales batches of rewards by the standard deviation of the returns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ludus.core.constructor_args import RecordConstructorArgs
from ludus.core.types import ActType, ObsType
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.errors import InvalidBound
from ludus.wrappers.mixins import SavesObjects
from ludus.wrappers.utils import RunningMeanStd

__all__ = ["NormalizeReward"]


class NormalizeReward(
    SavesObjects, VectorWrapper[ObsType, ActType, ObsType, ActType, Any], RecordConstructorArgs
):
    """Divide rewards by the standard deviation of the discounted returns seen so far.

    The statistics are in :attr:`return_rms`; set :attr:`update_running_mean` to ``False`` to
    freeze them, for instance for evaluation. Arguments and errors are those of
    :class:`ludus.wrappers.NormalizeReward`.
    """

    state_fields: ClassVar[tuple[str, ...]] = (
        "_prev_dones",
        "accumulated_reward",
        "update_running_mean",
    )
    saved_objects = ("return_rms",)

    update_running_mean: bool = True
    """Whether the statistics are still updated."""

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Any],
        gamma: float = 0.99,
        epsilon: float = 1e-8,
    ) -> None:
        if not 0 <= gamma <= 1:
            raise InvalidBound(f"`gamma` should be in the interval [0, 1]. Received {gamma}")
        if epsilon <= 0:
            raise InvalidBound(f"`epsilon` should be strictly positive. Received {epsilon}")
        RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        super().__init__(env)
        self.return_rms = RunningMeanStd(shape=())
        self.accumulated_reward: npt.NDArray[np.float32] = np.zeros(self.num_envs, np.float32)
        self.gamma = gamma
        self.epsilon = epsilon
        self._prev_dones: npt.NDArray[np.bool_] = np.zeros(self.num_envs, np.bool_)
        self._same_step = env.metadata.get("autoreset_mode") is AutoresetMode.SAME_STEP

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset, and set all returns to zero, also those that a ``reset_mask`` leaves out."""
        self.accumulated_reward[:] = 0
        self._prev_dones[:] = False
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Step, update the statistics unless frozen, and scale the rewards."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        returns = self.accumulated_reward
        following = returns * self.gamma * (1 - terminations) + rewards
        if self._same_step or not self._prev_dones.any():
            returns[:] = active = following.astype(returns.dtype)
        else:
            # In next-step mode, the step after an episode's end only resets.
            runs = ~self._prev_dones
            np.copyto(returns, following, casting="same_kind", where=runs)
            active = returns[runs]
        if self.update_running_mean and active.size:
            self.return_rms.update(active)
        self._prev_dones = np.logical_or(terminations, truncations)
        if self._same_step:
            returns[self._prev_dones] = 0
        return observations, self._scaled(rewards), terminations, truncations, infos

    def normalize(self, reward: Any) -> Any:
        """Update the statistics with the current returns, unless frozen, and scale ``reward``."""
        if self.update_running_mean:
            self.return_rms.update(self.accumulated_reward)
        return self._scaled(reward)

    def _scaled(self, reward: Any) -> Any:
        return reward / np.sqrt(self.return_rms.var + self.epsilon)
