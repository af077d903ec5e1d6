"""Board games for two, on open_spiel's rules (``pip install 'ludus-gym[board]'``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

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

__getattr__ = lazy_names(__name__, _MODULES)
