"""Kernels: dynamics written once in plain Python, run as Python or compiled.

:mod:`ludus.kernel.contract` defines what a kernel consists of; :class:`KernelEnv` and
:class:`KernelVectorEnv` run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.kernel.contract import Kernel
from ludus.kernel.env import KernelEnv
from ludus.lazy import lazy_names

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
__getattr__ = lazy_names(__name__, _MODULES, modules=("policies",))
