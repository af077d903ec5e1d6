"""Environments whose code is not trusted, run in boxes.

``ludus.make(id, sandbox=True)`` makes one; nothing here imports the environment's package. What
runs on the other side is in :mod:`ludus.untrusted.inside`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.spaces.cost import SpaceLimits
    from ludus.untrusted.env import BoxedEnv
    from ludus.untrusted.options import BoxOptions
    from ludus.untrusted.vector_env import BoxedVectorEnv

__all__ = ["BoxOptions", "BoxedEnv", "BoxedVectorEnv", "SpaceLimits"]

_MODULES = {
    "BoxOptions": "ludus.untrusted.options",
    "BoxedEnv": "ludus.untrusted.env",
    "BoxedVectorEnv": "ludus.untrusted.vector_env",
    "SpaceLimits": "ludus.spaces.cost",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
