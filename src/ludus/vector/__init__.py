"""Vector environments: the API, and backends that step environments in turn or in processes.

Example:
    >>> envs = SyncVectorEnv([lambda: ludus.make("CartPole-v1")] * 3)
    >>> observations, infos = envs.reset(seed=0)
    >>> observations.shape
    (3, 4)
"""

from __future__ import annotations

from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.core.vector_wrapper import (
    VectorActionWrapper,
    VectorObservationWrapper,
    VectorRewardWrapper,
    VectorWrapper,
)
from ludus.lazy import lazy_modules
from ludus.vector import utils
from ludus.vector.async_vector_env import AsyncVectorEnv
from ludus.vector.sync_vector_env import SyncVectorEnv

__all__ = [
    "AsyncVectorEnv",
    "AutoresetMode",
    "SyncVectorEnv",
    "VectorActionWrapper",
    "VectorEnv",
    "VectorObservationWrapper",
    "VectorRewardWrapper",
    "VectorWrapper",
    "utils",
]

lazy_modules(
    __name__,
    {
        "vector_env": {
            "ArrayType": "ludus.core.types",
            **{name: "ludus.core" for name in __all__ if name.startswith(("Autoreset", "Vector"))},
        }
    },
)
