"""Checks of one observation against its space."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.checking.findings import Findings, enforce, finding
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = ["check_obs", "describe", "observation_findings", "outside"]


def check_obs(obs: Any, observation_space: Space[Any], method_name: str) -> None:
    """Check that an observation is in its space; issue warnings.

    Raises:
        CheckFailed: The keys or length of the observation differ from the Dict or Tuple space.
    """
    enforce(observation_findings(obs, observation_space, method_name))


def observation_findings(obs: Any, space: Space[Any], method: str) -> Findings[None]:
    """Find differences between an observation returned by ``method`` and its space."""
    pre = f"The obs returned by the `{method}()` method"
    if isinstance(space, Tuple | Dict):
        if isinstance(space, Tuple) and not isinstance(obs, tuple):
            yield finding("obs-type", f"{pre} was expecting a tuple, actual type: {type(obs)}.")
        problem = _structure_problem(obs, space)
        if problem is not None:
            yield finding("obs-structure", f"{pre} {problem}.")
            return
        parts = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        for key, part in parts:
            yield from observation_findings(obs[key], part, method)
    else:
        problem = _type_problem(obs, space)
        if problem is not None:
            yield finding("obs-type", f"{pre} {problem}.")
    problem = outside(obs, space)
    if problem is not None:
        yield finding(
            "obs-outside-space", f"{pre} is not within the observation space{problem}", "warning"
        )


def _structure_problem(obs: Any, space: Tuple | Dict) -> str | None:
    if isinstance(space, Dict):
        if not isinstance(obs, dict):
            return f"must be a dict, actual type: {type(obs)}"
        if obs.keys() != space.spaces.keys():
            return (
                "has observation keys that are not same as the observation space keys, "
                f"obs keys: {list(obs)}, space keys: {list(space.spaces)}"
            )
    elif not hasattr(obs, "__len__") or len(obs) != len(space.spaces):
        return (
            "has a length that is not same as the observation space length, "
            f"obs: {describe(obs)}, space length: {len(space.spaces)}"
        )
    return None


def _type_problem(obs: Any, space: Space[Any]) -> str | None:
    if isinstance(space, Discrete):
        if not isinstance(obs, int | np.int64):
            return f"should be an int or np.int64, actual type: {type(obs)}"
    elif isinstance(space, MultiBinary | MultiDiscrete) or (
        isinstance(space, Box) and space.shape != ()
    ):
        if not isinstance(obs, np.ndarray):
            return f"was expecting a numpy array, actual type: {type(obs)}"
        if isinstance(space, Box) and obs.dtype != space.dtype:
            return f"was expecting numpy array dtype to be {space.dtype}, actual type: {obs.dtype}"
    return None


def outside(obs: Any, space: Space[Any]) -> str | None:
    """Return the reason why ``obs`` is not in ``space``, or ``None`` if it is."""
    try:
        if obs in space:
            return None
    except Exception as problem:  # a custom space can raise anything
        return f" with exception: {problem!r}."
    return f": got {describe(obs)}, expected an element of {space}."


def describe(value: Any) -> str:
    """Return a short description of a value."""
    if isinstance(value, np.ndarray):
        text = f"an array of shape {value.shape} and dtype {value.dtype}"
        if value.size and value.dtype.kind in "fiub":
            text += f" between {value.min()} and {value.max()}"
        return text
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} ({type(value).__name__})"
