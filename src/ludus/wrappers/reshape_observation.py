"""Reshapes observations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.spaces import Box
from ludus.wrappers.arguments import require_box
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["ReshapeObservation"]


class ReshapeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Reshape array observations.

    Raises:
        TypeError: The observation space is not a Box, or ``shape`` not a tuple of integers.
        ValueError: ``shape`` has another number of elements than the observations.
    """

    def __init__(self, env: Env[ObsType, ActType], shape: int | tuple[int, ...]) -> None:
        box = require_box(type(self), "observation", env.observation_space)
        if np.prod(shape) != np.prod(box.shape):
            raise ValueError(
                f"The shape {shape} has another number of elements (product) than the "
                f"observations' {box.shape}."
            )
        if not isinstance(shape, tuple):
            raise TypeError(f"`shape` must be a tuple, got {type(shape)}.")
        if not all(np.issubdtype(type(size), np.integer) for size in shape):
            raise TypeError(f"`shape` must consist of integers, got {shape}.")
        if any(size < 1 for size in shape):
            raise ValueError(f"`shape` must consist of positive integers, got {shape}.")
        RecordConstructorArgs.__init__(self, shape=shape)
        space: Any = Box(box.low.reshape(shape), box.high.reshape(shape), shape, box.dtype)
        super().__init__(env, self._reshaped, space)
        self.shape = shape

    def _reshaped(self, observation: Any) -> Any:
        return np.reshape(observation, self.shape)
