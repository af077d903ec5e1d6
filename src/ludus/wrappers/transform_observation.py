"""Wrappers that change observations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.core import (
    ActType,
    Env,
    ObservationWrapper,
    ObsType,
    RecordConstructorArgs,
    WrapperObsType,
)
from ludus.lazy import lazy_attributes
from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    Space,
    Tuple,
    flatten,
    flatten_space,
)
from ludus.wrappers.mixins import FunctionInPlace, calls_func
from ludus.wrappers.transform_action import Bins, Grid, clip
from ludus.wrappers.utils import Bound, require_box, rescale_box

__all__ = [
    "DiscretizeObservation",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "RescaleObservation",
    "ReshapeObservation",
    "TransformObservation",
]

# Gymnasium's module of this name also has these wrappers.
_IMAGES = ("AddRenderObservation", "GrayscaleObservation", "ResizeObservation")
__getattr__ = lazy_attributes(__name__, dict.fromkeys(_IMAGES, "ludus.wrappers"))


class TransformObservation(
    FunctionInPlace, ObservationWrapper[WrapperObsType, ActType, ObsType], RecordConstructorArgs
):
    """Apply ``func`` to every observation.

    Args:
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


class DiscretizeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Discretise a Box observation space into equal bins; an observation is its bin's index.

    Args:
        bins: Bins per component, one number for all or one each.
        multidiscrete: Return one index per component instead of one number for the whole cell.

    Raises:
        TypeError: The observation space is not a Box.
        ValueError: The Box is unbounded, or ``bins`` does not have one entry per component.

    Example:
        >>> DiscretizeObservation(ludus.make("MountainCar-v0"), bins=10).observation_space
        Discrete(100)
    """

    def __init__(self, env: Env[ObsType, ActType], bins: Bins, multidiscrete: bool = False) -> None:
        grid = Grid(type(self), "observation", env.observation_space, bins)
        RecordConstructorArgs.__init__(self, bins=bins, multidiscrete=multidiscrete)
        space: Any = grid.space(multidiscrete=multidiscrete)
        super().__init__(env, self._cell, space)
        self._grid = grid
        self.low, self.high, self.bins = grid.low, grid.high, grid.bins
        self.n_dims = int(grid.low.size)
        self.multidiscrete = multidiscrete
        self.bin_edges = [edges[1:-1] for edges in grid.edges]
        self._edges = [edges.tolist() for edges in self.bin_edges]
        # A value on the upper bound belongs to the last bin.
        self._inside = self.high - 1e-8

    def _cell(self, observation: Any) -> Any:
        clipped = clip(np.ravel(observation), self.low, self._inside).tolist()
        indices = list(map(bisect_right, self._edges, clipped))
        if self.multidiscrete:
            return np.array(indices, dtype=np.int64)
        return self._grid.flat(indices)

    def revert_observation(self, obs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the lower and the upper corner of the cell."""
        indices = np.asarray(obs, dtype=int) if self.multidiscrete else self._grid.indices(obs)
        dtype = self.env.observation_space.dtype
        cells = list(zip(self._grid.edges, indices, strict=True))
        return (
            np.array([edges[i] for edges, i in cells], dtype=dtype),
            np.array([edges[i + 1] for edges, i in cells], dtype=dtype),
        )


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


class FilterObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Keep the parts of Dict or Tuple observations named by ``filter_keys``, in that order.

    Keys are strings for a Dict observation space and indices for a Tuple one.

    Raises:
        TypeError: ``filter_keys`` is not a sequence, or a key has the wrong type.
        ValueError: A key does not exist, an index is given twice, no key is given, or the
            observation space is neither a Dict nor a Tuple.

    Example:
        >>> FilterObservation(ludus.make("Blackjack-v1"), filter_keys=[0]).observation_space
        Tuple(Discrete(32))
    """

    def __init__(self, env: Env[ObsType, ActType], filter_keys: Sequence[str | int]) -> None:
        if not isinstance(filter_keys, Sequence):
            raise TypeError(
                f"`filter_keys` must be a sequence, actual type: {type(filter_keys)}. The order "
                "of the keys matters."
            )
        RecordConstructorArgs.__init__(self, filter_keys=filter_keys)
        space: Any = _filtered_space(env.observation_space, filter_keys)
        pick = _dict_parts if isinstance(space, Dict) else _tuple_parts
        super().__init__(env, partial(pick, filter_keys), space)
        self.filter_keys = filter_keys


def _dict_parts(keys: Sequence[Any], observation: Any) -> dict[str, Any]:
    parts = {}
    for key in keys:  # faster than a comprehension before Python 3.12
        parts[key] = observation[key]
    return parts


def _tuple_parts(keys: Sequence[Any], observation: Any) -> tuple[Any, ...]:
    return tuple(observation[key] for key in keys)


def _filtered_space(space: Space[Any], keys: Sequence[Any]) -> Space[Any]:
    if isinstance(space, Dict):
        _check_keys(keys, str, "strings", "Dict")
        missing = [key for key in keys if key not in space.spaces]
        present: Any = list(space.spaces)
    elif isinstance(space, Tuple):
        _check_keys(keys, int, "integers", "Tuple")
        if len(set(keys)) != len(keys):
            raise ValueError(f"`filter_keys` has duplicate indices: {keys}.")
        missing = [key for key in keys if key >= len(space.spaces)]
        present = list(range(len(space.spaces)))
    else:
        raise ValueError(
            "FilterObservation takes parts of `Dict` and `Tuple` observations; this is a "
            f"{type(space)}."
        )
    if missing:
        raise ValueError(
            f"Of the `filter_keys` {keys}, {missing} are missing in the observation, which has "
            f"{present}."
        )
    if not keys:
        raise ValueError("`filter_keys` is empty: no part of the observation would be left.")
    if isinstance(space, Dict):
        return Dict({key: space.spaces[key] for key in keys}, sort_keys=space.sort_keys)
    return Tuple([space.spaces[key] for key in keys])


def _check_keys(keys: Sequence[Any], kind: type, name: str, space: str) -> None:
    if not all(isinstance(key, kind) for key in keys):
        raise TypeError(f"The parts of a {space} space are named by {name}, got {keys}.")


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


class RescaleObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Map observations linearly from the inner bounds to [``min_obs``, ``max_obs``].

    Raises:
        TypeError: The observation space is not a Box, or a bound is neither number nor array.
        ValueError: A bound does not fit the space (:func:`~ludus.wrappers.utils.rescale_box`).
    """

    def __init__(self, env: Env[ObsType, ActType], min_obs: Bound, max_obs: Bound) -> None:
        box = require_box(type(self), "observation", env.observation_space)
        RecordConstructorArgs.__init__(self, min_obs=min_obs, max_obs=max_obs)
        space: Any
        forward: Any
        space, forward, _ = rescale_box(box, min_obs, max_obs)
        super().__init__(env, forward, space)


class ReshapeObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Reshape array observations.

    Raises:
        TypeError: The observation space is not a Box, or ``shape`` not a tuple of integers.
        ValueError: ``shape`` has another number of elements than the observations.
    """

    def __init__(self, env: Env[ObsType, ActType], shape: int | tuple[int, ...]) -> None:
        box = require_box(type(self), "observation", env.observation_space)
        if np.prod(shape) != np.prod(box.shape):
            raise ValueError(
                f"The shape {shape} has another number of elements (product) than the "
                f"observations' {box.shape}."
            )
        if not isinstance(shape, tuple):
            raise TypeError(f"`shape` must be a tuple, got {type(shape)}.")
        check_sizes(shape)
        RecordConstructorArgs.__init__(self, shape=shape)
        space: Any = Box(box.low.reshape(shape), box.high.reshape(shape), shape, box.dtype)
        super().__init__(env, self._reshaped, space)
        self.shape = shape

    def _reshaped(self, observation: Any) -> Any:
        return np.reshape(observation, self.shape)


def check_sizes(shape: tuple[Any, ...]) -> None:
    """Raise TypeError or ValueError unless a shape consists of positive integers."""
    if not all(np.issubdtype(type(size), np.integer) for size in shape):
        raise TypeError(f"`shape` must consist of integers, got {shape}.")
    if any(size < 1 for size in shape):
        raise ValueError(f"`shape` must consist of positive integers, got {shape}.")
