"""Actions within bounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperActType
from ludus.spaces import Box
from ludus.wrappers.arguments import require_box
from ludus.wrappers.clipping import clip
from ludus.wrappers.transform_action import TransformAction

__all__ = ["ClipAction"]


class ClipAction(TransformAction[ObsType, WrapperActType, ActType]):
    """Take any action and clip it to the bounds of the inner action space.

    Raises:
        TypeError: The action space is not a Box.
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        box = require_box(type(self), "action", env.action_space)
        RecordConstructorArgs.__init__(self)
        unbounded: Any = Box(-np.inf, np.inf, shape=box.shape, dtype=box.dtype)
        super().__init__(env, partial(clip, low=box.low, high=box.high), unbounded)
