"""Ending episodes after a number of steps."""

from __future__ import annotations

import time
from typing import Any

from ludus.classic.error import NotResetYet
from ludus.classic.wrapper import Wrapper

__all__ = ["TimeLimit"]


class TimeLimit(Wrapper):
    """End an episode when it gets too long.

    The step at the limit has ``info["TimeLimit.truncated"]``: true if the limit alone ended the
    episode, false if it was over anyway. No other step has the key.

    Args:
        env: The environment.
        max_episode_steps: The limit; by default that of the environment's spec.
        max_episode_seconds: A limit in seconds since the reset, besides.
    """

    def __init__(
        self,
        env: Any,
        max_episode_steps: int | None = None,
        *,
        max_episode_seconds: float | None = None,
    ) -> None:
        super().__init__(env)
        if env.spec is not None:
            if max_episode_steps is None:
                max_episode_steps = env.spec.max_episode_steps
            env.spec.max_episode_steps = max_episode_steps
        self._max_episode_steps = max_episode_steps
        self._max_episode_seconds = max_episode_seconds
        self._elapsed_steps: int | None = None
        self._started_at = 0.0

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step, and end the episode at the limit.

        Raises:
            NotResetYet: ``reset`` has not been called.
        """
        if self._elapsed_steps is None:
            raise NotResetYet("Cannot call env.step() before calling reset()")
        observation, reward, done, info = self.env.step(action)
        self._elapsed_steps += 1
        if self._past_limit():
            info["TimeLimit.truncated"] = not done
            done = True
        return observation, reward, done, info

    def reset(self, **kwargs: Any) -> Any:
        """Reset and count from zero."""
        self._elapsed_steps = 0
        self._started_at = time.monotonic()
        return self.env.reset(**kwargs)

    def _past_limit(self) -> bool:
        steps, seconds = self._max_episode_steps, self._max_episode_seconds
        if steps is not None and (self._elapsed_steps or 0) >= steps:
            return True
        return seconds is not None and time.monotonic() - self._started_at >= seconds
