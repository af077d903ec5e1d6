"""Rescales the observation space."""

from __future__ import annotations

from typing import Any

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.wrappers.arguments import require_box
from ludus.wrappers.rescaling import Bound, rescale_box
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["RescaleObservation"]


class RescaleObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Map observations linearly from the inner bounds to [``min_obs``, ``max_obs``].

    Raises:
        TypeError: The observation space is not a Box, or a bound is neither number nor array.
        ValueError: A bound does not fit the space (:func:`~ludus.wrappers.utils.rescale_box`).
    """

    def __init__(self, env: Env[ObsType, ActType], min_obs: Bound, max_obs: Bound) -> None:
        box = require_box(type(self), "observation", env.observation_space)
        RecordConstructorArgs.__init__(self, min_obs=min_obs, max_obs=max_obs)
        space: Any
        forward: Any
        space, forward, _ = rescale_box(box, min_obs, max_obs)
        super().__init__(env, forward, space)
