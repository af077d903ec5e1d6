"""Clips actions to the bounds of the action space."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperActType
from ludus.spaces import Box
from ludus.wrappers.arguments import require_box
from ludus.wrappers.transform_action import TransformAction

__all__ = ["ClipAction", "clip"]


class ClipAction(TransformAction[ObsType, WrapperActType, ActType]):
    """Clip actions to the bounds of the inner action space; the outer one is unbounded.

    Raises:
        TypeError: The action space is not a Box.
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        box = require_box(type(self), "action", env.action_space)
        RecordConstructorArgs.__init__(self)
        unbounded: Any = Box(-np.inf, np.inf, shape=box.shape, dtype=box.dtype)
        super().__init__(env, partial(clip, low=box.low, high=box.high), unbounded)


def clip(value: Any, low: Any, high: Any) -> Any:
    """Clip like ``numpy.clip``, in a fraction of its time; ``None`` is no bound."""
    if low is not None:
        value = np.maximum(value, low)
    return value if high is None else np.minimum(value, high)
