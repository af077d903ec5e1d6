"""Converts step results between the classic API (``done``) and the current one.

The classic API has one flag, ``done``, and marks truncated episodes by
``info["TimeLimit.truncated"]``; the current one has two flags, ``terminated`` and ``truncated``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "DoneStepType",
    "TerminatedTruncatedStepType",
    "convert_to_done_step_api",
    "convert_to_terminated_truncated_step_api",
    "step_api_compatibility",
]

DoneStepType: TypeAlias = tuple[Any, Any, Any, Any]
TerminatedTruncatedStepType: TypeAlias = tuple[Any, Any, Any, Any, Any]

_KEY = "TimeLimit.truncated"


def step_api_compatibility(
    step_returns: TerminatedTruncatedStepType | DoneStepType,
    output_truncation_bool: bool = True,
    is_vector_env: bool = False,
) -> TerminatedTruncatedStepType | DoneStepType:
    """Convert a step's result to the API with two flags, or with one.

    Args:
        step_returns: The result, in either API.
        output_truncation_bool: Two flags if true, one if false.
        is_vector_env: The result is a vector environment's, with infos as a list or a dict.

    Raises:
        TypeError: The infos are neither a list nor a dict.
        ValueError: The result has neither four nor five elements.
    """
    if output_truncation_bool:
        return convert_to_terminated_truncated_step_api(step_returns, is_vector_env)
    return convert_to_done_step_api(step_returns, is_vector_env)


def convert_to_terminated_truncated_step_api(
    step_returns: DoneStepType | TerminatedTruncatedStepType, is_vector_env: bool = False
) -> TerminatedTruncatedStepType:
    """Convert a step's result to five elements, removing ``TimeLimit.truncated`` from the infos.

    Raises:
        TypeError: The infos are neither a list nor a dict.
        ValueError: The result has neither four nor five elements.
    """
    if len(step_returns) == 5:
        return step_returns
    observations, rewards, dones, infos = _elements(step_returns, 4)
    if not is_vector_env:
        truncated = infos.pop(_KEY, False)
        return observations, rewards, dones and not truncated, dones and truncated, infos
    if isinstance(infos, list):
        truncated = np.array([info.pop(_KEY, False) for info in infos])
    elif isinstance(infos, dict):
        truncated = infos.pop(_KEY, np.zeros(len(dones), dtype=np.bool_))
    else:
        raise _unexpected_infos(infos)
    terminated = np.logical_and(dones, np.logical_not(truncated))
    return observations, rewards, terminated, np.logical_and(dones, truncated), infos


def convert_to_done_step_api(
    step_returns: TerminatedTruncatedStepType | DoneStepType, is_vector_env: bool = False
) -> DoneStepType:
    """Convert a step's result to four elements, adding ``TimeLimit.truncated`` to the infos.

    Raises:
        TypeError: The infos are neither a list nor a dict.
        ValueError: The result has neither four nor five elements.
    """
    if len(step_returns) == 4:
        return step_returns
    observations, rewards, terminated, truncated, infos = _elements(step_returns, 5)
    if not is_vector_env:
        if terminated or truncated:
            infos[_KEY] = truncated and not terminated
        return observations, rewards, terminated or truncated, infos
    dones = np.logical_or(terminated, truncated)
    if isinstance(infos, list):
        for info, ended, cut in zip(infos, terminated, truncated, strict=True):
            if ended or cut:
                info[_KEY] = cut and not ended
    elif isinstance(infos, dict):
        if np.any(dones):
            infos[_KEY] = np.logical_and(truncated, np.logical_not(terminated))
    else:
        raise _unexpected_infos(infos)
    return observations, rewards, dones, infos


def _elements(step_returns: tuple[Any, ...], expected: int) -> tuple[Any, ...]:
    if len(step_returns) != expected:
        raise ValueError(
            f"A step's result has four or five elements, got {len(step_returns)}. Return (obs, "
            "reward, terminated, truncated, info)."
        )
    return step_returns


def _unexpected_infos(infos: object) -> TypeError:
    return TypeError(
        "Unexpected value of infos: with is_vector_env=True they are a list or dict, actual type: "
        f"{type(infos)}"
    )
