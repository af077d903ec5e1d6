"""What every vector environment does with seeds and with steps after the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ludus.errors import EpisodeOver

__all__ = ["episode_over", "seeds_per_env"]


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
