"""Wrappers that change batches of rewards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core.env import Env
from ludus.core.types import ActType, ArrayType, ObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorRewardWrapper
from ludus.core.wrapper import RewardWrapper
from ludus.wrappers import transform_reward

__all__ = ["ClipReward", "TransformReward", "VectorizeTransformReward"]


class TransformReward(VectorRewardWrapper[ObsType, ActType, ArrayType]):
    """Apply a function to the whole batch of rewards.

    Args:
        func: From the inner batch of rewards to the new one.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        func: Callable[[ArrayType], ArrayType],
    ) -> None:
        super().__init__(env)
        self.func = func

    def rewards(self, rewards: ArrayType) -> ArrayType:
        """Return ``func(rewards)``."""
        return self.func(rewards)


_Array = npt.NDArray[Any]


class VectorizeTransformReward(VectorRewardWrapper[ObsType, ActType, _Array]):
    """Apply a reward wrapper of :mod:`ludus.wrappers` to each reward of a batch.

    Args:
        wrapper: The wrapper class; it must be stateless, as one instance serves all environments.
        **kwargs: The wrapper's further arguments.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, _Array],
        wrapper: type[RewardWrapper[Any, Any]],
        **kwargs: Any,
    ) -> None:
        super().__init__(env)
        self.wrapper = wrapper(Env(), **kwargs)

    def rewards(self, rewards: _Array) -> _Array:
        """Return the changed rewards in a new array of the same dtype."""
        func = getattr(self.wrapper, "func", self.wrapper.reward)
        changed = np.empty_like(rewards)
        for i, reward in enumerate(rewards):
            changed[i] = func(reward)
        return changed


class ClipReward(VectorizeTransformReward[ObsType, ActType]):
    """Clip rewards; at least one of the bounds must be given.

    Raises:
        InvalidBound: Neither bound is given, or the lower one is above the upper one.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, _Array],
        min_reward: float | _Array | None = None,
        max_reward: float | _Array | None = None,
    ) -> None:
        super().__init__(
            env, transform_reward.ClipReward, min_reward=min_reward, max_reward=max_reward
        )
        bounds = (min_reward, max_reward)
        self._elementwise = all(np.ndim(bound) == 0 for bound in bounds if bound is not None)

    def rewards(self, rewards: _Array) -> _Array:
        """Return the clipped rewards in a new array of the same dtype."""
        if not self._elementwise:
            return super().rewards(rewards)
        changed = np.empty_like(rewards)
        changed[...] = self.wrapper.reward(rewards)
        return changed
