"""Stacks the last few observations."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from typing import Any, SupportsFloat

import numpy as np

from ludus.core import (
    ActType,
    Env,
    ObsType,
    RecordConstructorArgs,
    Wrapper,
    WrapperObsType,
)
from ludus.spaces import (
    Box,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    batch_space,
    concatenate,
    create_empty_array,
)
from ludus.wrappers.arguments import check_count
from ludus.wrappers.saved_fields import SavesObjects
from ludus.wrappers.zeros import create_zero_array

__all__ = ["FrameStackObservation"]


class FrameStackObservation(
    SavesObjects, Wrapper[WrapperObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Return the last ``stack_size`` observations as a batch, the newest last.

    Args:
        env: The environment.
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
