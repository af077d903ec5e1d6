"""The contract: what an environment, a wrapper and their specs are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ludus.core.constructor_args import EzPickle, RecordConstructorArgs
from ludus.core.env import Env
from ludus.core.ids import get_env_id, parse_env_id
from ludus.core.spec import EnvSpec, SecuritySpec, WrapperSpec
from ludus.core.types import ActType, ObsType, RenderFrame, State, WrapperActType, WrapperObsType
from ludus.core.wrapper import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper

if TYPE_CHECKING:
    from ludus.core.vector_env import AutoresetMode, VectorEnv
    from ludus.core.vector_wrapper import (
        VectorActionWrapper,
        VectorObservationWrapper,
        VectorRewardWrapper,
        VectorWrapper,
    )

__all__ = [
    "ActType",
    "ActionWrapper",
    "AutoresetMode",
    "Env",
    "EnvSpec",
    "EzPickle",
    "ObsType",
    "ObservationWrapper",
    "RecordConstructorArgs",
    "RenderFrame",
    "RewardWrapper",
    "SecuritySpec",
    "State",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
    "Wrapper",
    "WrapperActType",
    "WrapperObsType",
    "WrapperSpec",
    "get_env_id",
    "parse_env_id",
]

_VECTOR_ENV = ("AutoresetMode", "VectorEnv")
_VECTOR_WRAPPER = (
    "VectorActionWrapper",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
)


def __getattr__(name: str) -> Any:
    # Most programs have no batch; those that do load this half of the contract when they ask.
    if name in _VECTOR_ENV:
        module = "vector_env"
    elif name in _VECTOR_WRAPPER:
        module = "vector_wrapper"
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
