"""Observations that know the time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.classic.wrapper import Wrapper
from ludus.spaces import Box

__all__ = ["TimeAwareObservation"]


class TimeAwareObservation(Wrapper):
    """Append the number of steps since the reset to a vector observation."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        inner = env.observation_space
        if not isinstance(inner, Box) or inner.dtype != np.float32 or len(inner.shape) != 1:
            raise TypeError(f"TimeAwareObservation needs a flat Box of float32, got {inner}.")
        self.observation_space = Box(
            np.append(inner.low, np.float32(0)),
            np.append(inner.high, np.float32(np.inf)),
            dtype=np.float32,
        )
        self.t = 0

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step and count."""
        self.t += 1
        observation, reward, done, info = self.env.step(action)
        return self._timed(observation), reward, done, info

    def reset(self, **kwargs: Any) -> Any:
        """Reset and count from zero."""
        self.t = 0
        return self._timed(self.env.reset(**kwargs))

    def _timed(self, observation: Any) -> Any:
        return np.append(observation, np.float32(self.t))
