"""Converts RGB images to grayscale."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.spaces import Box
from ludus.wrappers.arguments import require_box
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["GrayscaleObservation"]

_LUMINANCE = np.array([0.2125, 0.7154, 0.0721])


class GrayscaleObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Convert RGB images to grayscale; ``keep_dim`` keeps a channel axis of length one.

    Raises:
        TypeError: The observation space is not a Box.
        ValueError: It does not hold RGB images: shape (h, w, 3), dtype uint8, bounds 0 and 255.
    """

    def __init__(self, env: Env[ObsType, ActType], keep_dim: bool = False) -> None:
        box = require_box(type(self), "observation", env.observation_space)
        if len(box.shape) != 3 or box.shape[-1] != 3:
            raise ValueError(
                f"GrayscaleObservation needs images of 3 channels, got the shape {box.shape}."
            )
        if box.dtype != np.uint8 or np.any(box.low != 0) or np.any(box.high != 255):
            raise ValueError(
                f"GrayscaleObservation needs images of dtype uint8 from 0 to 255, got {box}."
            )
        RecordConstructorArgs.__init__(self, keep_dim=keep_dim)
        shape = (*box.shape[:2], 1) if keep_dim else box.shape[:2]
        space: Any = Box(0, 255, shape=shape, dtype=np.uint8)
        super().__init__(env, _gray_channel if keep_dim else _gray, space)
        self.keep_dim = keep_dim


def _gray(image: Any) -> npt.NDArray[np.uint8]:
    # Summed channel by channel, because numpy.sum over an axis of length three is slow.
    red, green, blue = _LUMINANCE
    gray: npt.NDArray[np.float64] = image[..., 0] * red + image[..., 1] * green
    gray += image[..., 2] * blue
    return gray.astype(np.uint8)


def _gray_channel(image: Any) -> npt.NDArray[np.uint8]:
    return _gray(image)[..., None]
