"""Wrappers that change rewards."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, RewardWrapper
from ludus.errors import InvalidBound
from ludus.wrappers.mixins import FunctionInPlace, calls_func
from ludus.wrappers.transform_action import clip

__all__ = ["ClipReward", "TransformReward"]


class TransformReward(FunctionInPlace, RewardWrapper[ObsType, ActType], RecordConstructorArgs):
    """Apply ``func`` to every reward.

    Args:
        func: From an inner reward to an outer one. It must be stateless: its state would not be
            saved with the wrapper's.

    Example:
        >>> env = TransformReward(ludus.make("CartPole-v1"), lambda reward: 0.1 * reward)
        >>> _ = env.reset(seed=0)
        >>> env.step(0)[1]
        0.1
    """

    state_fields = ()
    calling_method = "reward"

    def __init__(self, env: Env[ObsType, ActType], func: Callable[[Any], SupportsFloat]) -> None:
        RecordConstructorArgs.__init__(self, func=func)
        super().__init__(env)
        self.func = func

    @calls_func
    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        """Return ``func(reward)``."""
        return self.func(reward)  # type: ignore[no-any-return]


class ClipReward(TransformReward[ObsType, ActType]):
    """Clip rewards to ``[min_reward, max_reward]``; ``None`` is no bound.

    Raises:
        InvalidBound: Both bounds are ``None``, or the lower one exceeds the upper one.

    Example:
        >>> env = ClipReward(ludus.make("Pendulum-v1"), min_reward=-1.0)
        >>> float(env.reward(-7.5))
        -1.0
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        min_reward: float | npt.NDArray[Any] | None = None,
        max_reward: float | npt.NDArray[Any] | None = None,
    ) -> None:
        if min_reward is None and max_reward is None:
            raise InvalidBound(
                "`min_reward` and `max_reward` are both None; give at least one bound."
            )
        bounded = min_reward is not None and max_reward is not None
        if bounded and np.any(np.asarray(max_reward) < np.asarray(min_reward)):
            raise InvalidBound(f"`min_reward` ({min_reward}) exceeds `max_reward` ({max_reward}).")
        RecordConstructorArgs.__init__(self, min_reward=min_reward, max_reward=max_reward)
        super().__init__(env, partial(clip, low=min_reward, high=max_reward))
