"""Arguments of vector environments, checked once for every backend."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ludus.errors import EpisodeOver, Error
from ludus.spaces import (
    Space,
    batch_differing_spaces,
    batch_space,
    is_space_dtype_shape_equiv,
)

__all__ = [
    "THREADS",
    "WORKERS",
    "BatchedSpaces",
    "batched_spaces",
    "copied_batch",
    "episode_over",
    "one_per_env",
    "refuse_after_fork",
    "seeds_per_env",
    "split_reset_mask",
]

THREADS = "its threads are not in this one"
WORKERS = "its workers answer that one only"
_MASK = "reset_mask"


class BatchedSpaces(NamedTuple):
    """The four spaces of a vector environment."""

    single_observation: Space[Any]
    observation: Space[Any]
    single_action: Space[Any]
    action: Space[Any]

    @classmethod
    def of(cls, observation: Space[Any], action: Space[Any], num_envs: int) -> BatchedSpaces:
        """Batch the spaces of equal environments."""
        return cls(
            observation, batch_space(observation, num_envs), action, batch_space(action, num_envs)
        )


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


def seeds_per_env(seed: Any, num_envs: int) -> Sequence[int | None]:
    """Return one seed per environment: an int counts upwards, ``None`` seeds nothing.

    Raises:
        TypeError: The seed is neither an int nor a sequence.
        ValueError: A sequence of another length.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int):
        return range(seed, seed + num_envs)
    if not hasattr(seed, "__len__"):
        raise TypeError(
            f"The seed must be an int, a list of ints or None, got {type(seed)}; use int(seed)."
        )
    if len(seed) != num_envs:
        raise ValueError(
            f"If seeds are passed as a list the length must match num_envs={num_envs} but got "
            f"length={len(seed)}."
        )
    seeds: Sequence[int | None] = seed
    return seeds


def episode_over(indices: Sequence[int]) -> EpisodeOver:
    """Return the error for stepping finished environments while autoreset is disabled."""
    return EpisodeOver(
        f"The episodes of environments {list(indices)} are over and autoreset is disabled. Call "
        "reset(options={'reset_mask': terminated | truncated}) before the next step."
    )


def split_reset_mask(
    options: dict[str, Any] | None, num_envs: int
) -> tuple[npt.NDArray[np.bool_] | None, dict[str, Any] | None]:
    """Return the mask of environments to reset and the options without it.

    The caller's dict stays as it is. Without a mask the first part is ``None``, which means all.

    Raises:
        TypeError: The mask is not a NumPy array of bools.
        ValueError: The mask does not have one entry per environment, or selects none.
    """
    if options is None or _MASK not in options:
        return None, options
    mask = options[_MASK]
    name = f"`options[{_MASK!r}]`"
    if not isinstance(mask, np.ndarray):
        raise TypeError(f"{name} must be a numpy array, got {type(mask)}; use np.array(mask).")
    if mask.shape != (num_envs,):
        raise ValueError(
            f"{name} must have shape `({num_envs},)`, one entry per environment, got {mask.shape}."
        )
    if mask.dtype != np.bool_:
        raise TypeError(
            f"{name} must have `dtype=np.bool_`, got {mask.dtype}; use mask.astype(np.bool_)."
        )
    if not mask.any():
        raise ValueError(
            f"{name} must contain at least one True value, got {mask}. To reset nothing, "
            "do not call reset()."
        )
    return mask, {key: value for key, value in options.items() if key != _MASK}


def refuse_after_fork(owner: object, maker: int, why: str = THREADS) -> None:
    """Refuse to use a batch in another process than ``maker``, which built it.

    Native threads stay behind when a process forks; a call that waits for them never returns.
    Workers answer every process that asks, so two processes would read each other's answers.

    Raises:
        Error: This is another process.
    """
    if os.getpid() != maker:
        raise Error(
            f"{owner} was built in process {maker}, and {why}. Build another here, or use "
            'vectorization_mode="sync", which has no threads and no workers.'
        )
