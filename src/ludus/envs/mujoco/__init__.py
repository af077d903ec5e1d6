"""Robots simulated by MuJoCo, and the base of robots of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.envs.mujoco.env import MujocoEnv
    from ludus.envs.mujoco.rendering import MujocoRenderer

__all__ = ["MujocoEnv", "MujocoRenderer"]

_MODULES = {"MujocoEnv": "env", "MujocoRenderer": "rendering"}

__getattr__ = lazy_names(__name__, _MODULES)
