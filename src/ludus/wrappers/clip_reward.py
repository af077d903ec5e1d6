"""Clips rewards."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs
from ludus.errors import InvalidBound
from ludus.wrappers.clip_action import clip
from ludus.wrappers.transform_reward import TransformReward

__all__ = ["ClipReward"]


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
