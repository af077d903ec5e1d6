"""Applies a function to batches of rewards."""

from __future__ import annotations

from collections.abc import Callable

from ludus.core.types import ActType, ArrayType, ObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorRewardWrapper

__all__ = ["TransformReward"]


class TransformReward(VectorRewardWrapper[ObsType, ActType, ArrayType]):
    """Apply a function to the whole batch of rewards.

    Args:
        env: The vector environment to wrap.
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
