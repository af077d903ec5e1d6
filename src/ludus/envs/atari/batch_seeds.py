"""Selects the games of a batch to reset, and their seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["game_seeds", "games_to_start"]

_UNSEEDED = -1
_LARGEST = 2**31 - 1
"""The emulator's seeds have 31 bits."""


def games_to_start(options: dict[str, Any] | None, num_envs: int) -> np.ndarray[Any, Any]:
    """Return the numbers of the games that ``options["reset_mask"]`` names; all without one.

    Raises:
        TypeError: The mask is not a NumPy array of bool.
        ValueError: It has not one entry for each game.
    """
    mask = (options or {}).get("reset_mask", np.ones(num_envs, dtype=np.bool_))
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        kind = getattr(mask, "dtype", type(mask))
        raise TypeError(f"`reset_mask` must be a NumPy array of bool, got {kind}.")
    if mask.shape != (num_envs,):
        raise ValueError(f"`reset_mask` must have the shape {(num_envs,)}, got {mask.shape}.")
    return np.flatnonzero(mask)


def game_seeds(seed: Any, count: int) -> np.ndarray[Any, Any]:
    """Return one seed for each game that starts, as the emulator takes them.

    A seed that does not fit into 31 bits is hashed; -1 in an array does not seed that game.

    Raises:
        TypeError: The seeds are of the wrong type.
        ValueError: There is not one for each game.
    """
    if seed is None:
        return np.full(count, _UNSEEDED)
    if isinstance(seed, int):
        seeds = [seed + i for i in range(count)]
    elif isinstance(seed, list | tuple | np.ndarray):
        seeds = list(seed)
    else:
        raise TypeError(f"Unsupported seed type {type(seed)}; pass an int or an array of ints.")
    if np.shape(seeds) != (count,):
        raise ValueError(
            f"`seed` must hold one entry for each game that starts, which are {count}; its shape "
            f"is {np.shape(seeds)}."
        )
    return np.array([_fitting(one) for one in seeds])


def _fitting(seed: Any) -> int:
    if seed is None:
        return _UNSEEDED
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"Unsupported seed type {type(seed)} of {seed!r}; seeds are ints.")
    if seed <= _LARGEST:
        return int(seed)
    hashed = np.random.SeedSequence(int(seed)).generate_state(1)[0]
    return int(hashed) & _LARGEST
