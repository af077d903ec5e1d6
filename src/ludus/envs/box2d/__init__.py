"""Landers, walkers and cars on the physics engine Box2D."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_modules, lazy_names

if TYPE_CHECKING:
    from ludus.envs.box2d.bipedal_walker import BipedalWalker, BipedalWalkerHardcore
    from ludus.envs.box2d.car_racing import CarRacing, CarRacingV2
    from ludus.envs.box2d.lunar_lander import (
        LunarLander,
        LunarLanderContinuous,
        LunarLanderV2,
    )

__all__ = [
    "BipedalWalker",
    "BipedalWalkerHardcore",
    "CarRacing",
    "CarRacingV2",
    "LunarLander",
    "LunarLanderContinuous",
    "LunarLanderV2",
]

_MODULES = {
    "BipedalWalker": "bipedal_walker",
    "BipedalWalkerHardcore": "bipedal_walker",
    "CarRacing": "car_racing",
    "CarRacingV2": "car_racing",
    "LunarLander": "lunar_lander",
    "LunarLanderContinuous": "lunar_lander",
    "LunarLanderV2": "lunar_lander",
}

__getattr__ = lazy_names(__name__, _MODULES)

lazy_modules(__name__, {"car_dynamics": {"Car": f"{__name__}.car"}})
