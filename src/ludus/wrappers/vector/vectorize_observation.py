"""Wrappers that change batches of observations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ludus.core.types import ActType, ArrayType, ObsType, WrapperObsType
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.vector_wrapper import VectorObservationWrapper
from ludus.core.wrapper import ObservationWrapper
from ludus.spaces import Space, batch_space
from ludus.wrappers import image_observation, transform_observation
from ludus.wrappers.vector.batch_transform import SpacesOfOne, set_spaces, transform_batch

__all__ = [
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "TransformObservation",
    "VectorizeTransformObservation",
]


class TransformObservation(VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType]):
    """Apply a function to the whole batch of observations.

    Args:
        func: From the inner batch of observations to the new one.
        observation_space: The new batched space; by default made from the single one.
        single_observation_space: The new space of one environment; by default the inner one.
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        func: Callable[[ObsType], WrapperObsType],
        observation_space: Space[Any] | None = None,
        single_observation_space: Space[Any] | None = None,
    ) -> None:
        super().__init__(env)
        set_spaces(self, "observation", observation_space, single_observation_space)
        self.func = func

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return ``func(observations)``."""
        return self.func(observations)


_Number = float | np.floating[Any] | np.integer[Any]


class VectorizeTransformObservation(
    VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Apply an observation wrapper of :mod:`ludus.wrappers` to each observation of a batch.

    Args:
        wrapper: The wrapper class; it must be stateless, as one instance serves all environments.
        **kwargs: The wrapper's further arguments.
    """

    elementwise: ClassVar[bool] = False
    """Whether the wrapper works element by element, so that it can take a whole batch at once."""

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        wrapper: type[ObservationWrapper[Any, Any, Any]],
        **kwargs: Any,
    ) -> None:
        super().__init__(env)
        self.autoreset_mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self.wrapper = wrapper(SpacesOfOne(env), **kwargs)
        self.single_observation_space = self.wrapper.observation_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.same_out = self.observation_space == env.observation_space

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return the batch of changed observations."""
        changed: WrapperObsType = transform_batch(
            getattr(self.wrapper, "func", self.wrapper.observation),
            observations,
            self.env.observation_space,
            self.single_observation_space,
            num_envs=self.num_envs,
            keep_dtype=self.same_out,
            elementwise=self.elementwise,
        )
        return changed


class FilterObservation(VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]):
    """Keep only the named parts of ``Dict`` or ``Tuple`` observations."""

    def __init__(
        self, env: VectorEnv[ObsType, ActType, ArrayType], filter_keys: Sequence[str | int]
    ) -> None:
        super().__init__(env, transform_observation.FilterObservation, filter_keys=filter_keys)


class FlattenObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Make each observation a vector."""

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        super().__init__(env, transform_observation.FlattenObservation)


class GrayscaleObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Make colour images grey; ``keep_dim`` keeps the channel axis, with length one."""

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType], keep_dim: bool = False) -> None:
        super().__init__(env, image_observation.GrayscaleObservation, keep_dim=keep_dim)


class ResizeObservation(VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]):
    """Scale images to ``shape``, (height, width)."""

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType], shape: tuple[int, ...]) -> None:
        super().__init__(env, image_observation.ResizeObservation, shape=shape)


class ReshapeObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Give each observation another shape with as many entries."""

    def __init__(
        self, env: VectorEnv[ObsType, ActType, ArrayType], shape: int | tuple[int, ...]
    ) -> None:
        super().__init__(env, transform_observation.ReshapeObservation, shape=shape)


class RescaleObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Map observations linearly from the space's bounds to the given ones."""

    elementwise = True

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        min_obs: _Number | npt.NDArray[Any],
        max_obs: _Number | npt.NDArray[Any],
    ) -> None:
        super().__init__(
            env, transform_observation.RescaleObservation, min_obs=min_obs, max_obs=max_obs
        )


class DtypeObservation(VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]):
    """Convert observations to another dtype."""

    elementwise = True

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType], dtype: Any) -> None:
        super().__init__(env, transform_observation.DtypeObservation, dtype=dtype)
