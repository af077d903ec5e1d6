"""Observations of another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["DtypeObservation"]


class DtypeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Convert observations to ``dtype``: a NumPy scalar type, a dtype or its name.

    Raises:
        TypeError: The observation space is not a Box, Discrete, MultiDiscrete or MultiBinary.
    """

    def __init__(self, env: Env[ObsType, ActType], dtype: Any) -> None:
        space: Any = _converted_space(env.observation_space, dtype)
        RecordConstructorArgs.__init__(self, dtype=dtype)
        super().__init__(env, space.dtype.type, space)
        self.dtype = dtype


def _converted_space(space: Space[Any], dtype: Any) -> Space[Any]:
    if isinstance(space, Box):
        low, high = space.low, space.high
        if np.can_cast(space.dtype, dtype):
            # Cast first: Box would report infinite bounds of a narrower dtype as an overflow.
            low, high = low.astype(dtype), high.astype(dtype)
        return Box(low, high, space.shape, dtype)
    if isinstance(space, Discrete):
        return Box(space.start, space.start + space.n - 1, (), dtype)
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete(space.nvec, dtype=dtype, start=space.start)
    if isinstance(space, MultiBinary):
        return Box(0, 1, space.shape, dtype)
    raise TypeError(
        "DtypeObservation converts numbers, from a Box, Discrete, MultiDiscrete or MultiBinary "
        f"space; this is a {type(space)}. Flatten the observations first (FlattenObservation)."
    )
