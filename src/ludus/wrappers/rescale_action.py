"""Rescales the action space."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperActType
from ludus.errors import InvalidBound
from ludus.wrappers.arguments import require_box
from ludus.wrappers.rescaling import Bound, rescale_box
from ludus.wrappers.transform_action import TransformAction

__all__ = ["RescaleAction"]


class RescaleAction(TransformAction[ObsType, WrapperActType, ActType]):
    """Map actions linearly from [``min_action``, ``max_action``] to the inner bounds.

    Raises:
        TypeError: The action space is not a Box, or a bound is neither number nor array.
        ValueError: A bound does not fit the space (:func:`~ludus.wrappers.utils.rescale_box`).
        InvalidBound: The bounds are equal in some component.

    Example:
        >>> RescaleAction(ludus.make("Pendulum-v1"), min_action=-1, max_action=1).action_space
        Box(-1.0, 1.0, (1,), float32)
    """

    def __init__(self, env: Env[ObsType, ActType], min_action: Bound, max_action: Bound) -> None:
        box = require_box(type(self), "action", env.action_space)
        RecordConstructorArgs.__init__(self, min_action=min_action, max_action=max_action)
        space: Any
        backward: Any
        space, _, backward = rescale_box(box, min_action, max_action)
        if np.any(space.low == space.high):
            raise InvalidBound(
                f"`min_action` ({min_action}) is not strictly smaller than `max_action` "
                f"({max_action}) everywhere: a point cannot be mapped back onto an interval."
            )
        super().__init__(env, backward, space)
