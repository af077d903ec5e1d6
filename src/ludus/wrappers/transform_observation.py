"""Applies a function to observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ludus.core import (
    ActType,
    Env,
    ObservationWrapper,
    ObsType,
    RecordConstructorArgs,
    WrapperObsType,
)
from ludus.lazy import lazy_attributes
from ludus.spaces import Space
from ludus.wrappers.function_in_place import FunctionInPlace, calls_func

__all__ = ["TransformObservation"]

# Gymnasium's module of this name also has these wrappers.
_GATHERED = (
    "AddRenderObservation",
    "DiscretizeObservation",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
)
__getattr__ = lazy_attributes(__name__, dict.fromkeys(_GATHERED, "ludus.wrappers"))


class TransformObservation(
    FunctionInPlace, ObservationWrapper[WrapperObsType, ActType, ObsType], RecordConstructorArgs
):
    """Apply ``func`` to every observation.

    Args:
        env: The environment.
        func: From an inner observation to an outer one. It must be stateless: its state would not
            be saved with the wrapper's.
        observation_space: The new observation space; ``None`` keeps the inner one.

    Example:
        >>> env = TransformObservation(ludus.make("CartPole-v1"), abs)
        >>> bool((env.reset(seed=0)[0] >= 0).all())
        True
    """

    state_fields = ()
    calling_method = "observation"

    def __init__(
        self,
        env: Env[ObsType, ActType],
        func: Callable[[ObsType], Any],
        observation_space: Space[WrapperObsType] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, func=func, observation_space=observation_space)
        super().__init__(env)
        if observation_space is not None:
            self.observation_space = observation_space
        self.func = func

    @calls_func
    def observation(self, observation: ObsType) -> Any:
        """Return ``func(observation)``."""
        return self.func(observation)
