"""Games on small grids."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.envs.grid.asterix import AsterixEnv
    from ludus.envs.grid.breakout import BreakoutEnv
    from ludus.envs.grid.freeway import FreewayEnv
    from ludus.envs.grid.seaquest import SeaquestEnv
    from ludus.envs.grid.space_invaders import SpaceInvadersEnv

__all__ = ["AsterixEnv", "BreakoutEnv", "FreewayEnv", "SeaquestEnv", "SpaceInvadersEnv"]

_MODULES = {
    "AsterixEnv": "asterix",
    "BreakoutEnv": "breakout",
    "FreewayEnv": "freeway",
    "SeaquestEnv": "seaquest",
    "SpaceInvadersEnv": "space_invaders",
}


def __getattr__(name: str) -> Any:
    # The table of specs lies in this package; reading it must not load the environments.
    if name in _MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
