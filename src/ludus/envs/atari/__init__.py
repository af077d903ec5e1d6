"""Atari 2600 games on the Arcade Learning Environment (``pip install 'ludus-gym[atari]'``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.envs.atari.env import AtariEnv
    from ludus.envs.atari.vector_env import AtariVectorEnv

__all__ = ["AtariEnv", "AtariVectorEnv"]

_MODULES = {"AtariEnv": "env", "AtariVectorEnv": "vector_env"}

__getattr__ = lazy_names(__name__, _MODULES)
