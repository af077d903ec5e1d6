"""Applies a function to batches of observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus import logger
from ludus.core.types import ActType, ArrayType, ObsType, WrapperObsType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorObservationWrapper
from ludus.spaces import Space, batch_space

__all__ = ["TransformObservation"]


class TransformObservation(VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType]):
    """Apply a function to the whole batch of observations.

    Args:
        env: The vector environment to wrap.
        func: From the inner batch of observations to the new one.
        observation_space: The new batched space; by default made from the single one.
        single_observation_space: The new space of one environment; by default the inner one.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        func: Callable[[ObsType], WrapperObsType],
        observation_space: Space[Any] | None = None,
        single_observation_space: Space[Any] | None = None,
    ) -> None:
        super().__init__(env)
        if single_observation_space is not None:
            self.single_observation_space = single_observation_space
            self.observation_space = batch_space(single_observation_space, self.num_envs)
        if observation_space is not None:
            self.observation_space = observation_space
        expected = batch_space(self.single_observation_space, self.num_envs)
        if self.observation_space != expected:
            logger.warn(
                f"For {env}, the observation space and the batched single observation space don't "
                f"match as expected: {self.observation_space} and {expected}. Pass "
                "single_observation_space as well.",
                stacklevel=2,
            )
        self.func = func

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return ``func(observations)``."""
        return self.func(observations)
