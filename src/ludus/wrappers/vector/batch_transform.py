"""Spaces of transformed batches, and application of functions of single values to batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludus import logger
from ludus.core.env import Env
from ludus.core.vector_env import VectorEnv
from ludus.spaces import Space, batch_space, concatenate, create_empty_array, iterate

__all__ = ["SpacesOfOne", "set_spaces", "transform_batch"]


class SpacesOfOne(Env[Any, Any]):
    """The spaces of one environment of a batch, as an environment for a single wrapper."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.action_space = env.single_action_space
        self.observation_space = env.single_observation_space


def set_spaces(
    wrapper: Any, kind: str, batched: Space[Any] | None, single: Space[Any] | None
) -> None:
    """Set the given spaces of actions or observations, and warn if they do not match."""
    if single is not None:
        setattr(wrapper, f"single_{kind}_space", single)
        setattr(wrapper, f"{kind}_space", batch_space(single, wrapper.num_envs))
    if batched is not None:
        setattr(wrapper, f"{kind}_space", batched)
    found = getattr(wrapper, f"{kind}_space")
    expected = batch_space(getattr(wrapper, f"single_{kind}_space"), wrapper.num_envs)
    if found != expected:
        logger.warn(
            f"For {wrapper.env}, the {kind} space and the batched single {kind} space don't match "
            f"as expected: {found} and {expected}. Pass single_{kind}_space as well.",
            stacklevel=3,
        )


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
    """Apply a function to every value of a batch, and return a new batch.

    Args:
        func: From a single value to a single value.
        batch: The values.
        source: The batched space of the given values.
        target: The single space of the results.
        num_envs: How many values a batch has.
        keep_dtype: Give the new batch the dtypes of the old one instead of those of ``target``.
        elementwise: Whether ``func`` works element by element, so that applying it to the whole
            batch at once gives the same bits.
    """
    out = _empty_like(batch) if keep_dtype else create_empty_array(target, num_envs, np.empty)
    if elementwise and type(batch) is np.ndarray and batch.shape == source.shape:
        np.copyto(out, func(batch), casting="same_kind")
        return out
    return concatenate(target, [func(single) for single in iterate(source, batch)], out)


def _empty_like(batch: Any) -> Any:
    if isinstance(batch, np.ndarray):
        return np.empty_like(batch)
    if isinstance(batch, dict):
        return {key: _empty_like(part) for key, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_empty_like(part) for part in batch)
    return None
