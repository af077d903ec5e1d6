"""Flattens observations into vectors."""

from __future__ import annotations

from functools import partial
from typing import Any

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.spaces import flatten, flatten_space
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["FlattenObservation"]


class FlattenObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Flatten observations with :func:`ludus.spaces.flatten`.

    Example:
        >>> FlattenObservation(ludus.make("Blackjack-v1")).observation_space
        Box(0, 1, (45,), int64)
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        RecordConstructorArgs.__init__(self)
        inner = env.observation_space
        flat: Any = flatten_space(inner)
        super().__init__(env, partial(flatten, inner), flat)
