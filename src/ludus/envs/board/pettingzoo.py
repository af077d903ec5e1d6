"""Board games as PettingZoo environments."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from ludus.core.foreign.spaces import rebuild
from ludus.envs.board.turn_based import TurnBasedEnv
from ludus.errors import DependencyNotInstalled

__all__ = ["pettingzoo_env"]


def pettingzoo_env(game: str, **options: Any) -> Any:
    """Return a game as an instance of PettingZoo's ``AECEnv``, with Gymnasium's spaces.

    :class:`~ludus.envs.board.TurnBasedEnv`, which takes the same arguments, has the same methods
    and needs neither library; this one is for code that checks types, as PettingZoo's wrappers do.

    Raises:
        DependencyNotInstalled: PettingZoo is not installed.
    """
    env = _class()(game, **options)
    import gymnasium

    for spaces in (env.observation_spaces, env.action_spaces):
        spaces.update({agent: rebuild(space, gymnasium.spaces) for agent, space in spaces.items()})
    return env


@cache
def _class() -> Any:
    try:
        base = importlib.import_module("pettingzoo").AECEnv
    except ImportError as problem:
        raise DependencyNotInstalled(
            "PettingZoo is not installed; run `pip install pettingzoo`, or use TurnBasedEnv, "
            "which has the same methods."
        ) from problem
    return type("PettingZooBoard", (TurnBasedEnv, base), {"__doc__": TurnBasedEnv.__doc__})
