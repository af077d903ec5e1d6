"""Kernels: dynamics written once in plain Python, run at native speed.

See :mod:`ludus.kernel.contract` for what to write, :class:`KernelEnv` and :class:`KernelVectorEnv`
for what runs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ludus.kernel.contract import Kernel
from ludus.kernel.env import KernelEnv

if TYPE_CHECKING:
    from ludus.kernel import policies
    from ludus.kernel.register_env import register
    from ludus.kernel.rollout import Trajectory
    from ludus.kernel.vector_env import KernelVectorEnv

__all__ = ["Kernel", "KernelEnv", "KernelVectorEnv", "Trajectory", "policies", "register"]

_MODULES = {
    "KernelVectorEnv": "vector_env",
    "Trajectory": "rollout",
    "register": "register_env",
}


def __getattr__(name: str) -> Any:
    if name == "policies":
        return import_module(f"{__name__}.policies")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
