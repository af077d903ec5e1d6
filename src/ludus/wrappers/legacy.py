"""Wrappers of earlier Gymnasium and Gym versions, with their old names and arguments.

They wrap environments of the current API (``reset`` returns two values, ``step`` five). Each
docstring names the wrapper that replaces it.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from ludus import logger
from ludus.core import Env, ObservationWrapper, RecordConstructorArgs, Wrapper
from ludus.core.foreign.classic_adapter import ClassicAdapter
from ludus.core.foreign.step_api import step_api_compatibility
from ludus.errors import Error
from ludus.optional import require
from ludus.spaces import Box, Dict, Space
from ludus.wrappers import transform_observation, transform_reward
from ludus.wrappers.image_observation import GrayscaleObservation
from ludus.wrappers.mixins import SavesObjects
from ludus.wrappers.rendering import RenderCollection
from ludus.wrappers.transform_observation import FilterObservation as FilterObservationWrapper
from ludus.wrappers.utils import require_box
from ludus.wrappers.video import capped_cubic_video_schedule

__all__ = [
    "AutoResetWrapper",
    "ClipReward",
    "EnvCompatibility",
    "FilterObservationWrapper",
    "FlattenDictWrapper",
    "FrameStack",
    "GrayScaleObservation",
    "LazyFrames",
    "PixelObservationWrapper",
    "RenderCollection",
    "SignReward",
    "SkipWrapper",
    "StepAPICompatibility",
    "TransformObservation",
    "TransformReward",
    "capped_cubic_video_schedule",
]

Array = npt.NDArray[Any]
Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class TransformObservation(transform_observation.TransformObservation):
    """:class:`ludus.wrappers.TransformObservation` called with ``f`` and no space."""

    def __init__(self, env: Env, f: Callable[[Any], Any]) -> None:
        RecordConstructorArgs.__init__(self, f=f)
        super().__init__(env, f, None)


class TransformReward(transform_reward.TransformReward):
    """:class:`ludus.wrappers.TransformReward` called with ``f``."""

    def __init__(self, env: Env, f: Callable[[Any], SupportsFloat]) -> None:
        RecordConstructorArgs.__init__(self, f=f)
        super().__init__(env, f)


class ClipReward(transform_reward.ClipReward):
    """:class:`ludus.wrappers.ClipReward` called with ``min_r`` and ``max_r``."""

    def __init__(self, env: Env, min_r: float, max_r: float) -> None:
        RecordConstructorArgs.__init__(self, min_r=min_r, max_r=max_r)
        super().__init__(env, min_r, max_r)


class SignReward(transform_reward.TransformReward):
    """Reduce rewards to their sign; now ``TransformReward(env, numpy.sign)``."""

    def __init__(self, env: Env) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env, np.sign)


class GrayScaleObservation(GrayscaleObservation):
    """Grayscale with OpenCV's weights; now :class:`ludus.wrappers.GrayscaleObservation`."""

    def __init__(self, env: Env, keep_dim: bool = False) -> None:
        require("cv2", extra="images")
        super().__init__(env, keep_dim)
        self.func = self._gray

    def _gray(self, image: Any) -> Array:
        import cv2

        gray: Array = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        return gray[..., None] if self.keep_dim else gray


class AutoResetWrapper(Wrapper, RecordConstructorArgs):
    """Reset in the same step in which an episode ends.

    That step returns the new episode's first observation; the old one's last observation and info
    are in the info, under ``final_observation`` and ``final_info``. Now
    :class:`ludus.wrappers.Autoreset`, which resets one step later.
    """

    state_fields = ()

    def __init__(self, env: Env) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)

    def step(self, action: Any) -> Step:
        """Step, and reset if that ended the episode."""
        result = self.env.step(action)
        observation, reward, terminated, truncated, info = result
        if not (terminated or truncated):
            return result
        first, new_info = self.env.reset()
        new_info = {**new_info, "final_observation": observation, "final_info": info}
        return first, reward, terminated, truncated, new_info


def SkipWrapper(repeat_count: int) -> type[Wrapper]:  # noqa: N802 - it was used like a class
    """Return a wrapper that takes each action ``repeat_count`` more times.

    Now :class:`ludus.wrappers.RepeatAction`.
    """

    class SkipWrapper(Wrapper):
        """Repeat actions; ``info["skip.stepcount"]`` counts the inner steps of the episode."""

        state_fields = ("stepcount",)

        def __init__(self, env: Env) -> None:
            super().__init__(env)
            self.repeat_count = repeat_count
            self.stepcount = 0

        def step(self, action: Any) -> Step:
            """Repeat the action until done; rewards add up.

            Raises:
                Error: Another SkipWrapper is inside.
            """
            total: Any = 0
            for _ in range(self.repeat_count + 1):
                self.stepcount += 1
                observation, reward, terminated, truncated, info = self.env.step(action)
                total += reward
                if terminated or truncated:
                    break
            if "skip.stepcount" in info:
                raise Error(
                    "The info has the key 'skip.stepcount' already: SkipWrappers are stacked. Use "
                    "one, with a larger repeat count."
                )
            info["skip.stepcount"] = self.stepcount
            return observation, total, terminated, truncated, info

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Any, dict[str, Any]]:
            """Reset and count from zero."""
            self.stepcount = 0
            return self.env.reset(seed=seed, options=options)

    return SkipWrapper


class FlattenDictWrapper(ObservationWrapper, RecordConstructorArgs):
    """Join the arrays under ``dict_keys`` into one vector of float32.

    Now :class:`ludus.wrappers.FilterObservation` and :class:`ludus.wrappers.FlattenObservation`.
    """

    state_fields = ()

    def __init__(self, env: Env, dict_keys: Iterable[str]) -> None:
        self.dict_keys = list(dict_keys)
        RecordConstructorArgs.__init__(self, dict_keys=self.dict_keys)
        super().__init__(env)
        inner: Any = env.observation_space
        size = sum(_size(inner.spaces[key]) for key in self.dict_keys)
        self.observation_space = Box(-np.inf, np.inf, shape=(size,), dtype=np.float32)

    def observation(self, observation: Any) -> Any:
        """Return the vector."""
        parts = [_vector(observation[key]) for key in self.dict_keys]
        return np.concatenate(parts).astype(np.float32)


def _size(space: Space[Any]) -> int:
    if isinstance(space, Dict):
        return sum(_size(part) for part in space.spaces.values())
    return int(np.prod(space.shape))  # type: ignore[arg-type]


def _vector(value: Any) -> Array:
    if isinstance(value, dict):
        return np.concatenate([_vector(part) for part in value.values()])
    return np.ravel(value)


class LazyFrames:
    """Frames that are stacked on access, so that several stacks share the same frames.

    With ``lz4_compress`` they are stored compressed (by zlib, which needs no further package).
    """

    __slots__ = ("_frames", "dtype", "frame_shape", "lz4_compress", "shape")

    def __init__(self, frames: Sequence[Any], lz4_compress: bool = False) -> None:
        self.frame_shape = tuple(frames[0].shape)
        self.shape: tuple[int, ...] = (len(frames), *self.frame_shape)
        self.dtype = frames[0].dtype
        self.lz4_compress = lz4_compress
        self._frames = [zlib.compress(f.tobytes(), 1) for f in frames] if lz4_compress else frames

    def _frame(self, frame: Any) -> Array:
        if not self.lz4_compress:
            return np.asarray(frame)
        return np.frombuffer(zlib.decompress(frame), self.dtype).reshape(self.frame_shape)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        stacked = self[:]
        return stacked if dtype is None else stacked.astype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int | slice) -> Array:
        if isinstance(index, int):
            return self._frame(self._frames[index])
        return np.stack([self._frame(frame) for frame in self._frames[index]])

    def __eq__(self, other: object) -> Any:
        return self[:] == other

    __hash__ = None  # type: ignore[assignment]


class FrameStack(SavesObjects, Wrapper, RecordConstructorArgs):
    """Return the last ``num_stack`` observations as :class:`LazyFrames`.

    Now :class:`ludus.wrappers.FrameStackObservation`, which returns an array.
    """

    state_fields = ()
    saved_objects = ("frames",)

    def __init__(self, env: Env, num_stack: int, lz4_compress: bool = False) -> None:
        RecordConstructorArgs.__init__(self, num_stack=num_stack, lz4_compress=lz4_compress)
        super().__init__(env)
        box = require_box(type(self), "observation", env.observation_space)
        self.num_stack = num_stack
        self.lz4_compress = lz4_compress
        self.frames: deque[Any] = deque(maxlen=num_stack)
        self.observation_space = Box(
            low=np.repeat(box.low[None], num_stack, axis=0),
            high=np.repeat(box.high[None], num_stack, axis=0),
            dtype=box.dtype,
        )

    def _stacked(self) -> LazyFrames:
        return LazyFrames(list(self.frames), self.lz4_compress)

    def step(self, action: Any) -> Step:
        """Step and stack the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.frames.append(observation)
        return self._stacked(), reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset and stack the first observation on itself."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.frames.extend([observation] * self.num_stack)
        return self._stacked(), info


class PixelObservationWrapper(ObservationWrapper, RecordConstructorArgs):
    """Return a dict with the rendered frame under each of ``pixel_keys``.

    The observation itself is added with ``pixels_only=False``. Now
    :class:`ludus.wrappers.AddRenderObservation`.

    Raises:
        ValueError: ``render_kwargs`` has other settings than the environment's render mode, or the
            observation already has one of the keys.
    """

    state_fields = ()

    def __init__(
        self,
        env: Env,
        pixels_only: bool = True,
        render_kwargs: dict[str, dict[str, Any]] | None = None,
        pixel_keys: tuple[str, ...] = ("pixels",),
    ) -> None:
        RecordConstructorArgs.__init__(
            self, pixels_only=pixels_only, render_kwargs=render_kwargs, pixel_keys=pixel_keys
        )
        super().__init__(env)
        for key, wanted in (render_kwargs or {}).items():
            if set(wanted.items()) - {("mode", "rgb_array")}:
                raise ValueError(
                    f"render_kwargs[{key!r}] is {wanted}, but render() takes no arguments; choose "
                    "how to render when the environment is built (render_mode='rgb_array')."
                )
        env.reset()
        frame = env.render()
        pixels = Box(0, 255, shape=frame.shape, dtype=frame.dtype)
        inner: Any = env.observation_space
        self._is_dict = isinstance(inner, Dict)
        self._pixels_only = pixels_only
        self._pixel_keys = pixel_keys
        parts = {} if pixels_only else dict(inner.spaces) if self._is_dict else {"state": inner}
        taken = sorted(set(parts) & set(pixel_keys))
        if taken:
            raise ValueError(f"The observation has the keys {taken} already; choose others.")
        self.observation_space = Dict({**parts, **dict.fromkeys(pixel_keys, pixels)})

    def observation(self, observation: Any) -> Any:
        """Return the dict."""
        frames = {key: self.env.render() for key in self._pixel_keys}
        if self._pixels_only:
            return frames
        return {**(observation if self._is_dict else {"state": observation}), **frames}


class StepAPICompatibility(Wrapper, RecordConstructorArgs):
    """Return five values from ``step``, or with ``output_truncation_bool=False`` four.

    Of the four, ``done`` is true if either flag is, and ``info["TimeLimit.truncated"]`` tells at
    the end which one it was. The inner environment may return either form.
    """

    state_fields = ()

    def __init__(self, env: Env, output_truncation_bool: bool = True) -> None:
        RecordConstructorArgs.__init__(self, output_truncation_bool=output_truncation_bool)
        super().__init__(env)
        self.output_truncation_bool = output_truncation_bool
        if not output_truncation_bool:
            logger.deprecation(
                "The environment's step() returns one flag, done, in the old step API; write "
                "code for terminated and truncated instead."
            )

    def step(self, action: Any) -> Any:
        """Step and convert the result."""
        return step_api_compatibility(self.env.step(action), self.output_truncation_bool)


class EnvCompatibility(ClassicAdapter):
    """Adapter for environments of classic Gym: ``seed()``, ``render(mode)``, four-value steps.

    ``ludus.make`` applies it where needed.

    Args:
        old_env: The environment; it need not be an :class:`Env`.
        render_mode: Passed to its ``render`` each time; with ``"human"`` every reset and step
            renders.
    """

    def __init__(self, old_env: Any, render_mode: str | None = None) -> None:
        super().__init__(old_env, render_mode)
