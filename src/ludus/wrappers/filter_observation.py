"""Parts of an observation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, WrapperObsType
from ludus.spaces import Dict, Space, Tuple
from ludus.wrappers.transform_observation import TransformObservation

__all__ = ["FilterObservation"]


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
