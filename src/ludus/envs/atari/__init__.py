"""Atari 2600 games, played by the Arcade Learning Environment (``pip install 'ludus[atari]'``)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.envs.atari.env import AtariEnv
    from ludus.envs.atari.vector_env import AtariVectorEnv

__all__ = ["AtariEnv", "AtariVectorEnv"]

_MODULES = {"AtariEnv": "env", "AtariVectorEnv": "vector_env"}


def __getattr__(name: str) -> Any:
    # The table of specs lies in this package; reading it must not load the environments.
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
