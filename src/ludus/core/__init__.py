"""The API of environments, wrappers, vector environments and their specs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ludus.core.constructor_args import EzPickle, RecordConstructorArgs
from ludus.core.env import Env
from ludus.core.ids import get_env_id, parse_env_id
from ludus.core.spec import EnvSpec, SecuritySpec, WrapperSpec
from ludus.core.types import ActType, ObsType, RenderFrame, State, WrapperActType, WrapperObsType
from ludus.core.wrapper import ActionWrapper, ObservationWrapper, RewardWrapper, Wrapper
from ludus.lazy import lazy_names

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

# Imported on first use, because most programs have no vector environments.
__getattr__ = lazy_names(
    __name__,
    {"AutoresetMode": "vector_env", "VectorEnv": "vector_env"}
    | {name: "vector_wrapper" for name in __all__ if re.fullmatch("Vector.*Wrapper", name)},
)
