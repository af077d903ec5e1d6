"""Gymnasium's module path for :mod:`ludus.core.foreign.step_api`."""

from __future__ import annotations

from ludus.core.foreign.step_api import (
    DoneStepType,
    TerminatedTruncatedStepType,
    convert_to_done_step_api,
    convert_to_terminated_truncated_step_api,
    step_api_compatibility,
)

__all__ = [
    "DoneStepType",
    "TerminatedTruncatedStepType",
    "convert_to_done_step_api",
    "convert_to_terminated_truncated_step_api",
    "step_api_compatibility",
]
