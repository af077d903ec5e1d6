"""Functions on single values applied to batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus.spaces import Space, concatenate, create_empty_array, iterate

__all__ = ["transform_batch"]


def transform_batch(
    func: Callable[[Any], Any],
    batch: Any,
    source: Space[Any],
    target: Space[Any],
    *,
    num_envs: int,
    keep_dtype: bool,
    elementwise: bool,
) -> Any:
    """Apply a function to every value of a batch, into a new batch; ``batch`` stays as it is.

    Args:
        func: From a single value to a single value.
        batch: The values.
        source: The batched space of what comes in.
        target: The single space of what goes out.
        num_envs: How many values a batch has.
        keep_dtype: Make the new batch of the old one's dtypes instead of those of ``target``.
        elementwise: ``func`` treats each number of an array alone, so that applying it to the
            whole batch at once gives the same bits.
    """
    out = _room_like(batch) if keep_dtype else create_empty_array(target, num_envs, np.empty)
    if elementwise and type(batch) is np.ndarray and batch.shape == source.shape:
        np.copyto(out, func(batch), casting="same_kind")
        return out
    return concatenate(target, [func(single) for single in iterate(source, batch)], out)


def _room_like(batch: Any) -> Any:
    if isinstance(batch, np.ndarray):
        return np.empty_like(batch)
    if isinstance(batch, dict):
        return {key: _room_like(part) for key, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_room_like(part) for part in batch)
    return None
