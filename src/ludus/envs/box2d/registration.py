"""The Box2D family as data."""

from __future__ import annotations

from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec

__all__ = ["SPECS"]

_COMMON: dict[str, Any] = {
    "family": "box2d",
    "author": "Ludus",
    "licence": "MIT",
    "security": SecuritySpec(dependencies=("Box2D==2.3.10",), trust="builtin"),
}


def _lander(name: str, continuous: bool, kind: str) -> EnvSpec:
    action = "continuous-action" if continuous else "discrete-action"
    how = "throttles of any size" if continuous else "three engines, each on or off"
    return EnvSpec(
        name,
        entry_point=f"ludus.envs.box2d.lunar_lander:{kind}",
        vector_entry_point=f"ludus.envs.box2d.lunar_lander:{kind}.vector",
        kwargs={"continuous": True} if continuous else {},
        max_episode_steps=1000,
        reward_threshold=200.0,
        description=f"Land softly between two flags with {how}.",
        tags=("box2d", action, "dense-reward"),
        **_COMMON,
    )


def _walker(name: str, hardcore: bool, steps: int, description: str) -> EnvSpec:
    return EnvSpec(
        name,
        entry_point="ludus.envs.box2d.bipedal_walker:BipedalWalker",
        vector_entry_point="ludus.envs.box2d.bipedal_walker:BipedalWalker.vector",
        kwargs={"hardcore": True} if hardcore else {},
        max_episode_steps=steps,
        reward_threshold=300.0,
        description=description,
        tags=("box2d", "continuous-action", "dense-reward"),
        **_COMMON,
    )


def _race(name: str, kind: str) -> EnvSpec:
    return EnvSpec(
        name,
        entry_point=f"ludus.envs.box2d.car_racing:{kind}",
        max_episode_steps=1000,
        reward_threshold=900.0,
        description="Drive a car round a race track, seen from above.",
        tags=("box2d", "continuous-action", "dense-reward", "pixels"),
        **_COMMON,
    )


SPECS = (
    _lander("LunarLander-v2", False, "LunarLanderV2"),
    _lander("LunarLander-v3", False, "LunarLander"),
    _lander("LunarLanderContinuous-v2", True, "LunarLanderV2"),
    _lander("LunarLanderContinuous-v3", True, "LunarLander"),
    _walker("BipedalWalker-v3", False, 1600, "Walk on two legs over slightly uneven ground."),
    _walker(
        "BipedalWalkerHardcore-v3",
        True,
        2000,
        "Walk on two legs over stumps, stairs and pits.",
    ),
    _race("CarRacing-v2", "CarRacingV2"),
    _race("CarRacing-v3", "CarRacing"),
)
