"""Three links in a viscous plane."""

from __future__ import annotations

from typing import Any

from ludus.envs.mujoco.models.parts import (
    camera,
    geom,
    hinge,
    light,
    motors,
    new_model,
    scenery,
    slide,
)

__all__ = ["swimmer"]


def swimmer() -> Any:
    """Return the swimmer, which slides and turns freely in the plane."""
    spec = new_model(
        "swimmer",
        timestep=0.01,
        density=4000,
        viscosity=0.1,
        joints={"armature": 0.1},
        geoms={
            "conaffinity": 0,
            "condim": 1,
            "contype": 0,
            "material": "geom",
            "rgba": (0.8, 0.6, 0.4, 1),
        },
    )
    scenery(spec, tiles=30)
    light(spec)
    geom(
        spec.worldbody,
        "plane",
        "floor",
        (40, 40, 0.1),
        pos=(0, 0, -0.1),
        condim=3,
        material="MatPlane",
        rgba=(0.8, 0.9, 0.8, 1),
    )
    torso = spec.worldbody.add_body(name="torso")
    camera(torso, (0, -3, 3), up=(0, 1, 1))
    geom(torso, "capsule", "", (0.1,), fromto=(1.5, 0, 0, 0.5, 0, 0), density=1000)
    slide(torso, "slider1", (1, 0, 0))
    slide(torso, "slider2", (0, 1, 0))
    hinge(torso, "free_body_rot", (0, 0, 1))
    body = torso
    for name, x, joint in (("mid", 0.5, "motor1_rot"), ("back", -1, "motor2_rot")):
        body = body.add_body(name=name, pos=(x, 0, 0))
        geom(body, "capsule", "", (0.1,), fromto=(0, 0, 0, -1, 0, 0), density=1000)
        hinge(body, joint, (0, 0, 1), limited=True, range=(-100, 100))
    motors(spec, (("motor1_rot", 150), ("motor2_rot", 150)), 1)
    return spec
