"""Wrappers that change batches of actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy.typing as npt

from ludus.core.types import ActType, ArrayType, ObsType, WrapperActType
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorActionWrapper
from ludus.core.wrapper import ActionWrapper
from ludus.spaces import Space, batch_space
from ludus.wrappers import transform_action
from ludus.wrappers.vector.batch_transform import SpacesOfOne, set_spaces, transform_batch

__all__ = ["ClipAction", "RescaleAction", "TransformAction", "VectorizeTransformAction"]


class TransformAction(VectorActionWrapper[ObsType, WrapperActType, ActType, ArrayType]):
    """Apply a function to the whole batch of actions before the inner step.

    Args:
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
        set_spaces(self, "action", action_space, single_action_space)
        self.func = func

    def actions(self, actions: WrapperActType) -> ActType:
        """Return ``func(actions)``."""
        return self.func(actions)


class VectorizeTransformAction(VectorActionWrapper[ObsType, WrapperActType, ActType, ArrayType]):
    """Apply an action wrapper of :mod:`ludus.wrappers` to each action of a batch.

    Args:
        wrapper: The wrapper class; it must be stateless, as one instance serves all environments.
        **kwargs: The wrapper's further arguments.
    """

    elementwise: ClassVar[bool] = False
    """Whether the wrapper works element by element, so that it can take a whole batch at once."""

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        wrapper: type[ActionWrapper[Any, Any, Any]],
        **kwargs: Any,
    ) -> None:
        super().__init__(env)
        self.wrapper = wrapper(SpacesOfOne(env), **kwargs)
        self.single_action_space = self.wrapper.action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.same_out = self.action_space == env.action_space

    def actions(self, actions: WrapperActType) -> ActType:
        """Return the batch of actions for the inner environments."""
        changed: ActType = transform_batch(
            getattr(self.wrapper, "func", self.wrapper.action),
            actions,
            self.action_space,
            self.env.single_action_space,
            num_envs=self.num_envs,
            keep_dtype=self.same_out,
            elementwise=self.elementwise,
        )
        return changed


class ClipAction(VectorizeTransformAction[ObsType, WrapperActType, ActType, ArrayType]):
    """Take any action and clip it to the bounds of the inner action space."""

    elementwise = True

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        super().__init__(env, transform_action.ClipAction)


class RescaleAction(VectorizeTransformAction[ObsType, WrapperActType, ActType, ArrayType]):
    """Take actions between the given bounds and map them linearly to the inner action space."""

    elementwise = True

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        min_action: float | int | npt.NDArray[Any],
        max_action: float | int | npt.NDArray[Any],
    ) -> None:
        super().__init__(
            env, transform_action.RescaleAction, min_action=min_action, max_action=max_action
        )
