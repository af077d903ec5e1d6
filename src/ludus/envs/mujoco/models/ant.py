"""A sphere on four legs."""

from __future__ import annotations

from typing import Any

from ludus.envs.mujoco.engine import import_mujoco
from ludus.envs.mujoco.models.parts import (
    assign,
    camera,
    geom,
    hinge,
    light,
    motors,
    new_model,
    scenery,
)

__all__ = ["ant"]

# Leg, where it points, its geoms beyond the hip, and the range of the ankle.
_LEGS: tuple[tuple[str, tuple[int, int], str, str, tuple[int, int]], ...] = (
    ("front_left_leg", (1, 1), "left_leg", "left_ankle", (30, 70)),
    ("front_right_leg", (-1, 1), "right_leg", "right_ankle", (-70, -30)),
    ("back_leg", (-1, -1), "back_leg", "third_ankle", (-70, -30)),
    ("right_back_leg", (1, -1), "rightback_leg", "fourth_ankle", (30, 70)),
)
_START = (0, 0, 0.55, 1, 0, 0, 0, 0, 1, 0, -1, 0, -1, 0, 1)


def _leg(torso: Any, number: int) -> None:
    """Add hip, leg and ankle, which lie on one diagonal."""
    name, (x, y), shank, ankle, limits = _LEGS[number - 1]
    near, far = (0.2 * x, 0.2 * y, 0), (0.4 * x, 0.4 * y, 0)
    hip = torso.add_body(name=name)
    geom(hip, "capsule", f"aux_{number}_geom", (0.08,), fromto=(0, 0, 0, *near))
    leg = hip.add_body(name=f"aux_{number}", pos=near)
    hinge(leg, f"hip_{number}", (0, 0, 1), range=(-30, 30))
    geom(leg, "capsule", f"{shank}_geom", (0.08,), fromto=(0, 0, 0, *near))
    foot = leg.add_body(pos=near)
    hinge(foot, f"ankle_{number}", (-x * y, 1, 0), range=limits)
    geom(foot, "capsule", f"{ankle}_geom", (0.08,), fromto=(0, 0, 0, *far))


def ant() -> Any:
    """Return the ant, standing above the ground."""
    spec = new_model(
        "ant",
        timestep=0.01,
        joints={"armature": 1, "damping": 1, "limited": True},
        geoms={
            "conaffinity": 0,
            "condim": 3,
            "density": 5,
            "friction": (1, 0.5, 0.5),
            "margin": 0.01,
            "rgba": (0.8, 0.6, 0.4, 1),
        },
    )
    spec.add_numeric(name="init_qpos", data=_START, size=len(_START))
    scenery(spec)
    light(spec)
    ground: dict[str, Any] = {"material": "MatPlane", "rgba": (0.8, 0.9, 0.8, 1)}
    geom(spec.worldbody, "plane", "floor", (40, 40, 40), conaffinity=1, **ground)
    torso = spec.worldbody.add_body(name="torso", pos=(0, 0, 0.75))
    camera(torso, (0, -3, 0.3))
    geom(torso, "sphere", "torso_geom", (0.25,))
    root = torso.add_joint(name="root", type=import_mujoco().mjtJoint.mjJNT_FREE)
    assign(root, {"armature": 0, "damping": 0, "limited": False, "margin": 0.01})
    for number in range(1, 5):
        _leg(torso, number)
    order = (4, 1, 2, 3)
    motors(spec, ((f"{joint}_{leg}", 150) for leg in order for joint in ("hip", "ankle")), 1)
    return spec
