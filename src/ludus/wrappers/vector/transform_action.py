"""Applies a function to batches of actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus import logger
from ludus.core.types import ActType, ArrayType, ObsType, WrapperActType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorActionWrapper
from ludus.spaces import Space, batch_space

__all__ = ["TransformAction"]


class TransformAction(VectorActionWrapper[ObsType, WrapperActType, ActType, ArrayType]):
    """Apply a function to the whole batch of actions before the inner step.

    Args:
        env: The vector environment to wrap.
        func: From the batch of actions given to the batch the inner environments take.
        action_space: The batched space of the actions given; by default made from the single one.
        single_action_space: The space of one environment's action; by default the inner one.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        func: Callable[[WrapperActType], ActType],
        action_space: Space[Any] | None = None,
        single_action_space: Space[Any] | None = None,
    ) -> None:
        super().__init__(env)
        if single_action_space is not None:
            self.single_action_space = single_action_space
            self.action_space = batch_space(single_action_space, self.num_envs)
        if action_space is not None:
            self.action_space = action_space
        expected = batch_space(self.single_action_space, self.num_envs)
        if self.action_space != expected:
            logger.warn(
                f"For {env}, the action space and the batched single action space don't match as "
                f"expected: {self.action_space} and {expected}. Pass single_action_space as well.",
                stacklevel=2,
            )
        self.func = func

    def actions(self, actions: WrapperActType) -> ActType:
        """Return ``func(actions)``."""
        return self.func(actions)
