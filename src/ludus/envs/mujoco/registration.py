"""The MuJoCo family as data."""

from __future__ import annotations

from typing import Any

from ludus.core.spec import EnvSpec, SecuritySpec

__all__ = ["SPECS"]

_COMMON: dict[str, Any] = {
    "family": "mujoco",
    "author": "Ludus",
    "licence": "MIT",
    "security": SecuritySpec(dependencies=("mujoco>=4,<5",), trust="builtin"),
}
_TAGS = ("mujoco", "continuous-action", "dense-reward")

# Name, module, steps, threshold, what it is, and the old versions that only explain themselves.
_ROWS: tuple[tuple[str, str, int, float | None, str, tuple[int, ...]], ...] = (
    ("InvertedPendulum", "pendulums", 1000, 950.0, "Balance a pole on a cart.", (2,)),
    ("InvertedDoublePendulum", "pendulums", 1000, 9100.0, "Balance two poles on a cart.", (2,)),
    ("Reacher", "arms", 50, -3.75, "Bring the tip of a flat arm to a target.", (2,)),
    ("Pusher", "arms", 100, 0.0, "Push a cylinder to a goal with an arm.", (2,)),
    ("Swimmer", "runners", 1000, 360.0, "Swim forward by bending two joints.", (2, 3)),
    ("Hopper", "walkers", 1000, 3800.0, "Hop forward on one leg.", (2, 3)),
    ("HalfCheetah", "runners", 1000, 4800.0, "Run forward on two legs.", (2, 3)),
    ("Walker2d", "walkers", 1000, None, "Walk forward on two legs.", (2, 3)),
    ("Ant", "ant", 1000, 6000.0, "Walk forward on four legs.", (2, 3)),
    ("Humanoid", "humanoid", 1000, None, "Walk forward like a human.", (2, 3)),
    ("HumanoidStandup", "humanoid", 1000, None, "Get up from the ground.", (2,)),
)


def _place(name: str, module: str, version: int) -> str:
    """Return the entry point of a version."""
    if (name, version) == ("Pusher", 4):
        return "ludus.envs.mujoco.arms:pusher_v4"
    suffix = "V4Env" if version == 4 else "Env"
    return f"ludus.envs.mujoco.{module}:{name}{suffix}"


def _vector_place(name: str, module: str, version: int) -> str | None:
    """Return the entry point of many at once, if there is a robot at all."""
    place = _place(name, module, version)
    return f"{place}.vector" if place.endswith("Env") else None


def _old(name: str, version: int) -> EnvSpec:
    """Return the row of a version that needs an engine of the past."""
    return EnvSpec(
        f"{name}-v{version}",
        entry_point="ludus.envs.mujoco.retired:retired",
        kwargs={"name": name, "version": version},
        description=f"Retired; use {name}-v5.",
        tags=("mujoco", "retired"),
        **_COMMON,
    )


def _rows() -> tuple[EnvSpec, ...]:
    specs: list[EnvSpec] = []
    for name, module, steps, threshold, description, retired in _ROWS:
        specs.extend(_old(name, version) for version in retired)
        specs.extend(
            EnvSpec(
                f"{name}-v{version}",
                entry_point=_place(name, module, version),
                vector_entry_point=_vector_place(name, module, version),
                max_episode_steps=steps,
                reward_threshold=threshold,
                description=description,
                tags=_TAGS,
                **_COMMON,
            )
            for version in (4, 5)
        )
    return tuple(specs)


SPECS = _rows()
