"""Gym's ``envs`` package: the registry."""

from __future__ import annotations

from ludus.classic.envs import registration
from ludus.classic.envs.registration import make, register, registry, spec

__all__ = ["make", "register", "registration", "registry", "spec"]
