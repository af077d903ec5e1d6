"""Classic Gym's wrappers that are implemented here, not by a Ludus wrapper."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from ludus.classic.core import ObservationWrapper, Wrapper
from ludus.classic.error import NotResetYet
from ludus.spaces import Box

__all__ = [
    "FlattenDictWrapper",
    "OrderEnforcing",
    "SkipWrapper",
    "TimeAwareObservation",
    "TimeLimit",
]


class FlattenDictWrapper(ObservationWrapper):
    """Concatenate the given entries of a dict observation to one vector."""

    def __init__(self, env: Any, dict_keys: Iterable[str]) -> None:
        super().__init__(env)
        self.dict_keys = list(dict_keys)
        size = sum(int(np.prod(env.observation_space.spaces[key].shape)) for key in self.dict_keys)
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float32)

    def observation(self, observation: dict[str, Any]) -> Any:
        """Return the concatenated entries."""
        return np.concatenate([np.ravel(observation[key]) for key in self.dict_keys])


class OrderEnforcing(Wrapper):
    """Raise an error if ``step`` is called before the first ``reset``."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._has_reset = False

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Step.

        Raises:
            NotResetYet: ``reset`` has not been called.
        """
        if not self._has_reset:
            raise NotResetYet("Cannot call env.step() before calling reset()")
        return self.env.step(action)  # type: ignore[no-any-return]

    def reset(self, **kwargs: Any) -> Any:
        """Reset."""
        self._has_reset = True
        return self.env.reset(**kwargs)


def SkipWrapper(repeat_count: int) -> type[Wrapper]:  # noqa: N802 - classic Gym's name
    """Return a wrapper class that repeats each action ``repeat_count`` more times.

    Rewards are summed; the end of an episode ends the repetition. ``info["skip.stepcount"]`` is the
    number of steps since the reset.
    """

    class Skip(Wrapper):
        """Repeat actions."""

        def __init__(self, env: Any) -> None:
            super().__init__(env)
            self.repeat_count = repeat_count
            self.stepcount = 0

        def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
            """Step with the action and repeat it."""
            total, done, taken = 0.0, False, 0
            observation, info = None, {}
            while taken < self.repeat_count + 1 and not done:
                observation, reward, done, info = self.env.step(action)
                total += reward
                taken += 1
            self.stepcount += taken
            info["skip.stepcount"] = self.stepcount
            return observation, total, done, info

        def reset(self, **kwargs: Any) -> Any:
            """Reset and count from zero."""
            self.stepcount = 0
            return self.env.reset(**kwargs)

    return Skip


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


class TimeLimit(Wrapper):
    """Truncate episodes after a number of steps or seconds.

    The info of the step at the limit has ``TimeLimit.truncated``: true if the limit ended the
    episode, false if it terminated in the same step.

    Args:
        max_episode_steps: Limit in steps; by default that of the environment's spec.
        max_episode_seconds: Limit in seconds since the reset.
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
        """Step, and truncate the episode at the limit.

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
