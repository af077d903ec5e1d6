"""Resizes image observations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.optional import require
from ludus.spaces import Box
from ludus.wrappers.arguments import require_box
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["ResizeObservation"]


class ResizeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Resize image observations to ``shape``, height and width.

    Raises:
        TypeError: The observation space is not a Box, or ``shape`` not a tuple of integers.
        ValueError: The observations are not images (two or three axes, dtype uint8, bounds 0 and
            255), or ``shape`` is not a pair of positive numbers.
        DependencyNotInstalled: OpenCV is not installed.
    """

    def __init__(self, env: Env[ObsType, ActType], shape: tuple[int, int]) -> None:
        box = require_box(type(self), "observation", env.observation_space)
        if len(box.shape) not in (2, 3):
            raise ValueError(
                f"ResizeObservation needs images of 2 or 3 axes, got the shape {box.shape}."
            )
        if box.dtype != np.uint8 or np.any(box.low != 0) or np.any(box.high != 255):
            raise ValueError(
                f"ResizeObservation needs images of dtype uint8 from 0 to 255, got {box}."
            )
        _check_shape(shape)
        require("cv2", extra="images")
        RecordConstructorArgs.__init__(self, shape=shape)
        space: Any = Box(0, 255, shape=shape + box.shape[2:], dtype=np.uint8)
        super().__init__(env, self._resized, space)
        self._seen_shape = space.shape
        self.shape = shape
        self.cv2_shape = (shape[1], shape[0])

    def _resized(self, image: Any) -> npt.NDArray[np.uint8]:
        import cv2

        resized = cv2.resize(image, self.cv2_shape, interpolation=cv2.INTER_AREA)
        # OpenCV drops the axis of a single channel.
        pixels: npt.NDArray[np.uint8] = resized.reshape(self._seen_shape)
        return pixels


def _check_shape(shape: object) -> None:
    if not isinstance(shape, tuple):
        raise TypeError(f"`shape` must be a tuple, height and width, got {type(shape)}.")
    if len(shape) != 2:
        raise ValueError(f"`shape` must have length 2, height and width, got {shape}.")
    if not all(np.issubdtype(type(size), np.integer) for size in shape):
        raise TypeError(f"`shape` must consist of integers, got {shape}.")
    if any(size < 1 for size in shape):
        raise ValueError(f"`shape` must consist of positive integers, got {shape}.")
