"""A ball on a plane that is pushed along one axis and turned: a model to try environments with."""

from __future__ import annotations

from typing import Any

from ludus.envs.mujoco.models.parts import geom, hinge, light, motors, new_model, scenery, slide

__all__ = ["point"]


def point() -> Any:
    """Return the point, whose nose shows where it is heading."""
    spec = new_model(
        "MuJoCo Model",
        timestep=0.02,
        geoms={
            "conaffinity": 0,
            "condim": 3,
            "density": 100,
            "friction": (1, 0.5, 0.5),
            "rgba": (0.8, 0.6, 0.4, 1),
        },
    )
    scenery(spec, tiles=30)
    light(spec)
    geom(
        spec.worldbody,
        "plane",
        "floor",
        (40, 40, 40),
        conaffinity=1,
        material="MatPlane",
        rgba=(0.8, 0.9, 0.8, 1),
    )
    torso = spec.worldbody.add_body(name="torso")
    geom(torso, "sphere", "pointbody", (0.5,), pos=(0, 0, 0.5))
    geom(torso, "box", "pointarrow", (0.5, 0.1, 0.1), pos=(0.6, 0, 0.5))
    slide(torso, "ballx", (1, 0, 0))
    slide(torso, "bally", (0, 1, 0))
    hinge(torso, "rot", (0, 0, 1))
    motors(spec, (("ballx", 1),), 1)
    motors(spec, (("rot", 1),), 0.25)
    return spec
