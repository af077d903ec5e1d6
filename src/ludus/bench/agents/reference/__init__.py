"""Reference agents: short programs that play an environment well, one for each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ludus.core.ids import get_env_id, parse_env_id
from ludus.errors import BenchError

__all__ = ["reference_agent", "reference_ids"]

_CLASSIC, _TOY, _TAPE = "classic_control", "toy_text", "algorithmic"
_ARCADE, _MAZE = "arcade", "maze"
_AGENTS = {
    "CartPole": (_CLASSIC, "CartPoleAgent"),
    "phys2d/CartPole": (_CLASSIC, "CartPoleAgent"),
    "MountainCar": (_CLASSIC, "MountainCarAgent"),
    "MountainCarContinuous": (_CLASSIC, "MountainCarContinuousAgent"),
    "Pendulum": (_CLASSIC, "PendulumAgent"),
    "phys2d/Pendulum": (_CLASSIC, "PendulumAgent"),
    "Acrobot": (_CLASSIC, "AcrobotAgent"),
    "FrozenLake": (_TOY, "PlanningAgent"),
    "FrozenLake8x8": (_TOY, "PlanningAgent"),
    "CliffWalking": (_TOY, "PlanningAgent"),
    "CliffWalkingSlippery": (_TOY, "PlanningAgent"),
    "tabular/CliffWalking": (_TOY, "PlanningAgent"),
    "Taxi": (_TOY, "PlanningAgent"),
    "Blackjack": (_TOY, "BlackjackAgent"),
    "tabular/Blackjack": (_TOY, "BlackjackAgent"),
    "NChain": (_TOY, "NChainAgent"),
    "Roulette": (_TOY, "RouletteAgent"),
    "GuessingGame": (_TOY, "BisectingAgent"),
    "HotterColder": (_TOY, "BisectingAgent"),
    "KellyCoinflip": (_TOY, "KellyAgent"),
    "Copy": (_TAPE, "CopyAgent"),
    "RepeatCopy": (_TAPE, "RepeatCopyAgent"),
    "DuplicatedInput": (_TAPE, "DuplicatedInputAgent"),
    "Reverse": (_TAPE, "ReverseAgent"),
    "ReversedAddition": (_TAPE, "AdditionAgent"),
    "ReversedAddition3": (_TAPE, "AdditionAgent"),
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
