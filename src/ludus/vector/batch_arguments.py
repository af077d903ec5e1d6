"""Arguments of vector environments, checked once for every backend."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludus.spaces import (
    Space,
    batch_differing_spaces,
    batch_space,
    is_space_dtype_shape_equiv,
)

__all__ = [
    "BatchedSpaces",
    "batched_spaces",
    "copied_batch",
    "one_per_env",
]


@dataclass(frozen=True, slots=True)
class BatchedSpaces:
    """The four spaces of a vector environment."""

    single_observation: Space[Any]
    observation: Space[Any]
    single_action: Space[Any]
    action: Space[Any]


def batched_spaces(
    observation_mode: Any,
    observation_spaces: Sequence[Space[Any]],
    action_spaces: Sequence[Space[Any]],
) -> BatchedSpaces:
    """Batch the environments' spaces as ``observation_mode`` says.

    Raises:
        RuntimeError: The environments' spaces do not fit together.
        TypeError: ``observation_mode`` is a pair of something else than spaces.
        ValueError: Unknown ``observation_mode``.
    """
    n = len(observation_spaces)
    single = observation_spaces[0]
    if isinstance(observation_mode, tuple) and len(observation_mode) == 2:
        if not all(isinstance(space, Space) for space in observation_mode):
            raise TypeError(
                "Expected both elements of observation_mode to be Spaces, got "
                f"{type(observation_mode[0])} and {type(observation_mode[1])}."
            )
        batched, single = observation_mode
    elif observation_mode == "same":
        batched = batch_space(single, n)
    elif observation_mode == "different":
        batched = batch_differing_spaces(list(observation_spaces))
    else:
        raise ValueError(
            "Invalid `observation_mode`, expected: 'same', 'different' or the tuple (batched "
            f"space, single space), got {observation_mode!r}."
        )
    _check_observation_spaces(observation_mode, single, observation_spaces)
    for index, space in enumerate(action_spaces):
        if space != action_spaces[0]:
            raise RuntimeError(
                f"The action space of environment {index} is {space}, but "
                f"single_action_space={action_spaces[0]}; all must be equal."
            )
    return BatchedSpaces(single, batched, action_spaces[0], batch_space(action_spaces[0], n))


def _check_observation_spaces(
    observation_mode: Any, single: Space[Any], spaces: Sequence[Space[Any]]
) -> None:
    for index, space in enumerate(spaces):
        if observation_mode == "same":
            if space != single:
                raise RuntimeError(
                    "With observation_mode='same' the observation spaces must be equal, but that "
                    f"of environment {index} is {space} and single_observation_space={single}. "
                    "If only the bounds differ, use observation_mode='different'."
                )
        elif not is_space_dtype_shape_equiv(space, single):
            raise RuntimeError(
                "The observation spaces must share a common shape and dtype, but that of "
                f"environment {index} is {space} and single_observation_space={single}."
            )


def one_per_env(values: Any, num_envs: int) -> Sequence[Any]:
    """Return one value per environment: a list or tuple as it is, anything else repeated.

    Raises:
        ValueError: A list or tuple of another length.
    """
    if not isinstance(values, list | tuple):
        return [values] * num_envs
    if len(values) != num_envs:
        raise ValueError(
            "Values must be a list or tuple with length equal to the number of environments, got "
            f"{len(values)} values for {num_envs} environments."
        )
    return values


def copied_batch(batch: Any) -> Any:
    """Copy a batch of observations."""
    # deepcopy gives the same, but takes several times as long on arrays.
    kind = type(batch)
    if kind is np.ndarray:
        return batch.copy()
    if kind is dict:
        return {key: copied_batch(part) for key, part in batch.items()}
    if kind is tuple:
        return tuple(copied_batch(part) for part in batch)
    return deepcopy(batch)
