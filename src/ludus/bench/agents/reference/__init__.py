"""Reference agents: short programs that play an environment well, one for each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ludus.core.ids import get_env_id, parse_env_id
from ludus.errors import BenchError

__all__ = ["reference_agent", "reference_ids"]

_SMALL, _ARCADE, _MAZE = "small_games", "arcade", "maze"
_AGENTS = {
    "CartPole": (_SMALL, "CartPoleAgent"),
    "phys2d/CartPole": (_SMALL, "CartPoleAgent"),
    "MountainCar": (_SMALL, "MountainCarAgent"),
    "MountainCarContinuous": (_SMALL, "MountainCarContinuousAgent"),
    "Pendulum": (_SMALL, "PendulumAgent"),
    "phys2d/Pendulum": (_SMALL, "PendulumAgent"),
    "Acrobot": (_SMALL, "AcrobotAgent"),
    "FrozenLake": (_SMALL, "PlanningAgent"),
    "FrozenLake8x8": (_SMALL, "PlanningAgent"),
    "CliffWalking": (_SMALL, "PlanningAgent"),
    "CliffWalkingSlippery": (_SMALL, "PlanningAgent"),
    "tabular/CliffWalking": (_SMALL, "PlanningAgent"),
    "Taxi": (_SMALL, "PlanningAgent"),
    "Blackjack": (_SMALL, "BlackjackAgent"),
    "tabular/Blackjack": (_SMALL, "BlackjackAgent"),
    "NChain": (_SMALL, "NChainAgent"),
    "Roulette": (_SMALL, "RouletteAgent"),
    "GuessingGame": (_SMALL, "BisectingAgent"),
    "HotterColder": (_SMALL, "BisectingAgent"),
    "KellyCoinflip": (_SMALL, "KellyAgent"),
    "Copy": (_SMALL, "CopyAgent"),
    "RepeatCopy": (_SMALL, "RepeatCopyAgent"),
    "DuplicatedInput": (_SMALL, "DuplicatedInputAgent"),
    "Reverse": (_SMALL, "ReverseAgent"),
    "ReversedAddition": (_SMALL, "AdditionAgent"),
    "ReversedAddition3": (_SMALL, "AdditionAgent"),
    "MinAtar/Asterix": (_ARCADE, "AsterixAgent"),
    "MinAtar/Breakout": (_ARCADE, "BreakoutAgent"),
    "MinAtar/Freeway": (_ARCADE, "FreewayAgent"),
    "MinAtar/Seaquest": (_ARCADE, "SeaquestAgent"),
    "MinAtar/SpaceInvaders": (_ARCADE, "SpaceInvadersAgent"),
    "FourRooms": (_MAZE, "FourRoomsAgent"),
    "FourRoomsVisual": (_MAZE, "FourRoomsAgent"),
    "MetaMaze": (_MAZE, "MetaMazeAgent"),
}
_SEEN_FROM_INSIDE = "Maze/"
"""The mazes of this namespace share an agent, whatever their size."""


def reference_agent(env: Any) -> Any:
    """Return the reference agent of an environment.

    Raises:
        BenchError: There is none.
    """
    found = _find(env.spec.id)
    if found is None:
        raise BenchError(
            f"There is no reference agent for {env.spec.id}; there are some for "
            f"{', '.join(reference_ids())}."
        )
    module, name = found
    return getattr(import_module(f"{__name__}.{module}"), name)(env)


def has_reference(env_id: str) -> bool:
    """Tell whether an environment has a reference agent."""
    return _find(env_id) is not None


def reference_ids() -> list[str]:
    """Return the names, without versions, of environments that have a reference agent."""
    return sorted([*_AGENTS, f"{_SEEN_FROM_INSIDE}…"])


def _find(env_id: str) -> tuple[str, str] | None:
    namespace, name, _ = parse_env_id(env_id.partition(":")[2] or env_id)
    key = get_env_id(namespace, name, None)
    if key.startswith(_SEEN_FROM_INSIDE):
        return _MAZE, "ExploringAgent"
    return _AGENTS.get(key)
