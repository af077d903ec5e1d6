"""Adds the time step to the observations."""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from ludus.core import (
    ActType,
    Env,
    ObservationWrapper,
    ObsType,
    RecordConstructorArgs,
    Wrapper,
    WrapperObsType,
)
from ludus.spaces import Box, Dict, Space, Tuple, flatten_space
from ludus.spaces import flatten as flattened
from ludus.wrappers.time_limit import TimeLimit

__all__ = ["TimeAwareObservation"]


class TimeAwareObservation(
    ObservationWrapper[WrapperObsType, ActType, ObsType], RecordConstructorArgs
):
    """Add the number of steps since the reset to the observation.

    A Dict gets a further key, a Tuple a further element; any other observation becomes
    ``{"obs": observation, "time": time}``.

    Args:
        env: The environment; its episodes have a time limit.
        flatten: Flatten the result into a vector.
        normalize_time: Divide the time by the limit, which gives a number from 0 to 1.
        dict_time_key: Key of the time in a Dict observation.

    Raises:
        ValueError: There is no time limit, or the Dict has the key already.
    """

    state_fields = ("timesteps",)

    def __init__(
        self,
        env: Env[ObsType, ActType],
        flatten: bool = True,
        normalize_time: bool = False,
        *,
        dict_time_key: str = "time",
    ) -> None:
        RecordConstructorArgs.__init__(
            self, flatten=flatten, normalize_time=normalize_time, dict_time_key=dict_time_key
        )
        super().__init__(env)
        self.flatten = flatten
        self.normalize_time = normalize_time
        self.max_timesteps = _time_limit(env)
        self.timesteps = 0
        self._dict_time_key = dict_time_key
        self._inner_space: Space[Any] = env.observation_space
        self._timed_space = self._with_time(self._inner_space)
        named = isinstance(self._inner_space, Dict | Tuple)
        self._appends = flatten and not named and self._timed_space.is_np_flattenable
        space: Any = flatten_space(self._timed_space) if flatten else self._timed_space
        self.observation_space = space

    def _with_time(self, inner: Space[Any]) -> Space[Any]:
        steps = Box(0, self.max_timesteps, dtype=np.int32)
        time = Box(0.0, 1.0) if self.normalize_time else steps
        if isinstance(inner, Tuple):
            return Tuple((*inner.spaces, time))
        if not isinstance(inner, Dict):
            return Dict(obs=inner, time=time)
        key = self._dict_time_key
        if key in inner.spaces:
            raise ValueError(
                f"The observation already has the key {key!r}: {list(inner.spaces)}. Choose "
                "another `dict_time_key`."
            )
        return Dict({key: time, **inner.spaces}, sort_keys=inner.sort_keys)

    def observation(self, observation: Any) -> Any:
        """Return the observation with the time."""
        time = self._time()
        inner = self._inner_space
        timed: Any
        if self._appends:
            return np.concatenate((flattened(inner, observation), time))
        if isinstance(inner, Dict):
            timed = {self._dict_time_key: time, **observation}
        elif isinstance(inner, Tuple):
            timed = (*observation, time)
        else:
            timed = {"obs": observation, "time": time}
        return flattened(self._timed_space, timed) if self.flatten else timed

    def _time(self) -> npt.NDArray[Any]:
        if self.normalize_time:
            return np.array([self.timesteps / self.max_timesteps], dtype=np.float32)
        return np.array([self.timesteps], dtype=np.int32)

    def step(
        self, action: ActType
    ) -> tuple[WrapperObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and increment the time."""
        self.timesteps += 1
        return super().step(action)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Reset the environment and the time."""
        self.timesteps = 0
        return super().reset(seed=seed, options=options)


def _time_limit(env: Env[Any, Any]) -> int:
    """Return the time limit of the spec, or of the outermost TimeLimit."""
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return env.spec.max_episode_steps
    layer = env
    while isinstance(layer, Wrapper):
        if isinstance(layer, TimeLimit):
            return layer._max_episode_steps
        layer = layer.env
    raise ValueError(
        f"The episodes of {env} have no time limit: there is neither a TimeLimit wrapper nor a "
        "`max_episode_steps` in the spec."
    )
