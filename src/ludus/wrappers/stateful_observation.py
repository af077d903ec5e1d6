"""Wrappers whose observations depend on earlier ones."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
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
from ludus.errors import InvalidBound
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    Space,
    Tuple,
    batch_space,
    concatenate,
    create_empty_array,
    flatten_space,
)
from ludus.spaces import flatten as flattened
from ludus.wrappers.common import TimeLimit
from ludus.wrappers.mixins import FreezableStatistics, SavesObjects
from ludus.wrappers.utils import (
    RunningMeanStd,
    add_sample,
    check_count,
    create_zero_array,
)

__all__ = [
    "DelayObservation",
    "FrameStackObservation",
    "MaxAndSkipObservation",
    "NormalizeObservation",
    "TimeAwareObservation",
]


class DelayObservation(
    SavesObjects, ObservationWrapper[ObsType, ActType, ObsType], RecordConstructorArgs
):
    """Return every observation ``delay`` steps late, and zeros until the first one arrives.

    Raises:
        TypeError: ``delay`` is not an integer.
        ValueError: It is negative.
    """

    state_fields = ()
    saved_objects = ("observation_queue",)

    def __init__(self, env: Env[ObsType, ActType], delay: int) -> None:
        check_count("delay", delay, at_least=0)
        RecordConstructorArgs.__init__(self, delay=delay)
        super().__init__(env)
        self.delay = int(delay)
        self.observation_queue: deque[ObsType] = deque()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset and empty the queue of delayed observations."""
        self.observation_queue.clear()
        return super().reset(seed=seed, options=options)

    def observation(self, observation: ObsType) -> Any:
        """Return the observation of ``delay`` steps ago."""
        self.observation_queue.append(observation)
        if len(self.observation_queue) > self.delay:
            return self.observation_queue.popleft()
        return create_zero_array(self.observation_space)


class FrameStackObservation(
    SavesObjects, Wrapper[WrapperObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Return the last ``stack_size`` observations as a batch, the newest last.

    Args:
        stack_size: How many observations.
        padding_type: What fills the stack at a reset: ``"reset"`` repeats the episode's first
            observation, ``"zero"`` uses zeros; or an observation to repeat.

    Raises:
        TypeError: ``stack_size`` is not an integer.
        ValueError: It is not positive, or ``padding_type`` is none of the above.

    Example:
        >>> FrameStackObservation(ludus.make("CartPole-v1"), stack_size=4).reset(seed=0)[0].shape
        (4, 4)
    """

    state_fields = ()
    saved_objects = ("obs_queue", "padding_value")

    def __init__(
        self,
        env: Env[ObsType, ActType],
        stack_size: int,
        *,
        padding_type: str | ObsType = "reset",
    ) -> None:
        RecordConstructorArgs.__init__(self, stack_size=stack_size, padding_type=padding_type)
        super().__init__(env)
        self.stack_size = stack_size = check_count("stack_size", stack_size, at_least=1)
        inner = env.observation_space
        self.padding_value: Any
        if isinstance(padding_type, str) and padding_type in ("reset", "zero"):
            self.padding_type = padding_type
            self.padding_value = create_zero_array(inner)
        elif padding_type in inner:
            self.padding_type = "_custom"
            self.padding_value = padding_type
        else:
            raise ValueError(
                "`padding_type` must be 'reset', 'zero' or an observation from "
                f"{inner}, actual value: {padding_type!r}."
            )
        batched: Any = batch_space(inner, n=stack_size)
        self.observation_space = batched
        self.obs_queue: deque[Any] = deque([self.padding_value] * stack_size, maxlen=stack_size)
        # Batching arrays copies them. Other batches share their parts with the queue, which the
        # caller must not change.
        self._batch_is_copy = isinstance(inner, Box | Discrete | MultiBinary | MultiDiscrete)

    def step(
        self, action: ActType
    ) -> tuple[WrapperObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step and stack the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.obs_queue.append(observation)
        return self._stacked(), reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[WrapperObsType, dict[str, Any]]:
        """Reset, and fill the stack with padding and the first observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        if self.padding_type == "reset":
            self.padding_value = observation
        self.obs_queue.extend([self.padding_value] * (self.stack_size - 1))
        self.obs_queue.append(observation)
        return self._stacked(), info

    def _stacked(self) -> Any:
        inner = self.env.observation_space
        out = create_empty_array(inner, n=self.stack_size, fn=np.zeros)
        batch = concatenate(inner, self.obs_queue, out)
        return batch if self._batch_is_copy else deepcopy(batch)


class MaxAndSkipObservation(
    Wrapper[WrapperObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Repeat each action ``skip`` times; return the maximum of the last two observations.

    Rewards are summed. If the episode ends before the last two repetitions, the maximum includes
    observations of the previous step.

    Raises:
        TypeError: ``skip`` is not an integer.
        ValueError: It is below two, or the observations are not arrays.
    """

    state_fields = ("_obs_buffer",)

    def __init__(self, env: Env[ObsType, ActType], skip: int = 4) -> None:
        RecordConstructorArgs.__init__(self, skip=skip)
        super().__init__(env)
        check_count("skip", skip, at_least=2)
        space = env.observation_space
        if space.shape is None:
            raise ValueError(
                f"MaxAndSkipObservation needs an observation space with a shape, got {space}."
            )
        self._skip = skip
        self._obs_buffer: npt.NDArray[Any] = np.zeros((2, *space.shape), dtype=space.dtype)

    def step(self, action: ActType) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Repeat the action; flags and info are those of the last repetition."""
        total = 0.0
        for left in range(self._skip - 1, -1, -1):
            observation, reward, terminated, truncated, info = self.env.step(action)
            if left < 2:
                self._obs_buffer[1 - left] = observation
            total += float(reward)
            if terminated or truncated:
                break
        return np.maximum(*self._obs_buffer), total, terminated, truncated, info


class NormalizeObservation(
    FreezableStatistics,
    ObservationWrapper[WrapperObsType, ActType, ObsType],
    RecordConstructorArgs,
):
    """Normalise observations by the mean and variance of all seen so far, as float32.

    ``update_running_mean = False`` freezes the statistics, for example during evaluation.

    Args:
        env: The environment; its observations are arrays.
        epsilon: Added to the variance before dividing.

    Raises:
        InvalidBound: ``epsilon`` is not positive.
        ValueError: The observations are not arrays.
    """

    state_fields = ("_update_running_mean",)
    saved_objects = ("obs_rms",)

    def __init__(self, env: Env[ObsType, ActType], epsilon: float = 1e-8) -> None:
        if epsilon <= 0:
            raise InvalidBound(f"`epsilon` must be positive, got {epsilon}.")
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        super().__init__(env)
        shape = env.observation_space.shape
        if shape is None:
            raise ValueError(
                "NormalizeObservation needs an observation space with a shape, got "
                f"{env.observation_space}. Flatten the observations first (FlattenObservation)."
            )
        space: Any = Box(-np.inf, np.inf, shape=shape, dtype=np.float32)
        self.observation_space = space
        self.obs_rms = RunningMeanStd(shape=shape, dtype=np.float32)
        self.epsilon = epsilon
        self._update_running_mean = True

    def observation(self, observation: Any) -> Any:
        """Return the normalised observation, after adding it to the statistics."""
        if self._update_running_mean:
            add_sample(self.obs_rms, observation)
        spread: npt.NDArray[Any] = np.sqrt(self.obs_rms.var + self.epsilon)
        return np.float32((observation - self.obs_rms.mean) / spread)


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
