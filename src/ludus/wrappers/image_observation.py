"""Wrappers whose observations are images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.optional import require
from ludus.spaces import Box, Dict
from ludus.wrappers.transform_observation import TransformObservation, check_sizes
from ludus.wrappers.utils import require_box

__all__ = ["AddRenderObservation", "GrayscaleObservation", "ResizeObservation"]


class AddRenderObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Return the rendered frame as the observation, or together with it.

    Constructing the wrapper resets the environment, to get the shape of a frame.

    Args:
        env: The environment; it renders arrays.
        render_only: Return the frame alone; otherwise a dict of frame and observation.
        render_key: The frame's key in that dict.
        obs_key: The observation's key, unless it is a dict, which is extended.

    Raises:
        ValueError: The render mode is ``None`` or ``"human"``, or the dict has the key already.
        TypeError: ``render`` does not return an array.
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        render_only: bool = True,
        render_key: str = "pixels",
        obs_key: str = "state",
    ) -> None:
        RecordConstructorArgs.__init__(
            self, render_only=render_only, render_key=render_key, obs_key=obs_key
        )
        if env.render_mode in (None, "human"):
            raise ValueError(
                f"AddRenderObservation needs frames, but the render_mode is {env.render_mode!r}; "
                "build the environment with render_mode='rgb_array'."
            )
        env.reset()
        pixels = env.render()
        if not isinstance(pixels, np.ndarray):
            raise TypeError(
                f"AddRenderObservation needs a numpy array from env.render(), got {type(pixels)}."
            )
        space: Any = Box(0, 255, shape=pixels.shape, dtype=np.uint8)
        inner: Any = env.observation_space
        func: Callable[[Any], Any] = self._frame
        if not render_only and isinstance(inner, Dict):
            if render_key in inner.spaces:
                raise ValueError(
                    f"The observation already has the key '{render_key}': {list(inner.spaces)}. "
                    "Choose another `render_key`."
                )
            space = Dict({render_key: space, **inner.spaces}, sort_keys=inner.sort_keys)
            func = self._extended
        elif not render_only:
            space = Dict({obs_key: inner, render_key: space})
            func = self._pair
        self._render_key = render_key
        self._obs_key = obs_key
        super().__init__(env, func, space)

    def _frame(self, _: Any) -> Any:
        return self.render()

    def _extended(self, observation: Any) -> Any:
        return {self._render_key: self.render(), **observation}

    def _pair(self, observation: Any) -> Any:
        return {self._obs_key: observation, self._render_key: self.render()}


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
        _require_pixels("GrayscaleObservation", box)
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
        _require_pixels("ResizeObservation", box)
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
    check_sizes(shape)


def _require_pixels(wrapper: str, box: Box) -> None:
    if box.dtype != np.uint8 or np.any(box.low != 0) or np.any(box.high != 255):
        raise ValueError(f"{wrapper} needs images of dtype uint8 from 0 to 255, got {box}.")
