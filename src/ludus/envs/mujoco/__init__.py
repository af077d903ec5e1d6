"""Robots simulated by MuJoCo, and the base of robots of one's own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.envs.mujoco.env import MujocoEnv
    from ludus.envs.mujoco.rendering import MujocoRenderer

__all__ = ["MujocoEnv", "MujocoRenderer"]

_MODULES = {"MujocoEnv": "env", "MujocoRenderer": "rendering"}


def __getattr__(name: str) -> Any:
    # The table of specs lies in this package; reading it must not load the environments.
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
