"""Adds rendered frames to the observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.spaces import Box, Dict
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["AddRenderObservation"]


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
