"""Type variables and aliases of the environment contract."""

from __future__ import annotations

from typing import Any, TypeAlias

from typing_extensions import TypeVar

__all__ = [
    "ActType",
    "ArrayType",
    "ObsType",
    "RenderFrame",
    "State",
    "WrapperActType",
    "WrapperObsType",
]

ObsType = TypeVar("ObsType", default=Any)
ActType = TypeVar("ActType", default=Any)
WrapperObsType = TypeVar("WrapperObsType", default=Any)
WrapperActType = TypeVar("WrapperActType", default=Any)
RenderFrame = TypeVar("RenderFrame", default=Any)
ArrayType = TypeVar("ArrayType", default=Any)

State: TypeAlias = dict[str, Any]
"""What ``get_state`` returns: numbers, strings, lists, dicts and arrays, nothing else."""
