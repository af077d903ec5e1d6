"""Board games for two, on open_spiel's rules (``pip install 'ludus[board]'``)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.envs.board.env import BoardEnv
    from ludus.envs.board.pettingzoo import pettingzoo_env
    from ludus.envs.board.turn_based import TurnBasedEnv
    from ludus.envs.board.vector_env import BoardVectorEnv

__all__ = ["BoardEnv", "BoardVectorEnv", "TurnBasedEnv", "pettingzoo_env"]

_MODULES = {
    "BoardEnv": "env",
    "BoardVectorEnv": "vector_env",
    "TurnBasedEnv": "turn_based",
    "pettingzoo_env": "pettingzoo",
}


def __getattr__(name: str) -> Any:
    # The table of specs lies in this package; reading it must not load the environments.
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
