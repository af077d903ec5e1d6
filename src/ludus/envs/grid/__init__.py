"""Games and mazes on small grids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.envs.grid.asterix import AsterixEnv
    from ludus.envs.grid.breakout import BreakoutEnv
    from ludus.envs.grid.crossing import CrossingEnv
    from ludus.envs.grid.empty_room import EmptyRoomEnv
    from ludus.envs.grid.four_rooms import FourRoomsEnv, FourRoomsVisualEnv
    from ludus.envs.grid.freeway import FreewayEnv
    from ludus.envs.grid.meta_maze import MetaMazeEnv
    from ludus.envs.grid.seaquest import SeaquestEnv
    from ludus.envs.grid.space_invaders import SpaceInvadersEnv

__all__ = [
    "AsterixEnv",
    "BreakoutEnv",
    "CrossingEnv",
    "EmptyRoomEnv",
    "FourRoomsEnv",
    "FourRoomsVisualEnv",
    "FreewayEnv",
    "MetaMazeEnv",
    "SeaquestEnv",
    "SpaceInvadersEnv",
]

_MODULES = {
    "AsterixEnv": "asterix",
    "BreakoutEnv": "breakout",
    "CrossingEnv": "crossing",
    "EmptyRoomEnv": "empty_room",
    "FourRoomsEnv": "four_rooms",
    "FourRoomsVisualEnv": "four_rooms",
    "FreewayEnv": "freeway",
    "MetaMazeEnv": "meta_maze",
    "SeaquestEnv": "seaquest",
    "SpaceInvadersEnv": "space_invaders",
}

__getattr__ = lazy_names(__name__, _MODULES)
