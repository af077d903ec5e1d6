"""Robots that run in a vertical plane: a hopper, a walker, and half a cheetah."""

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

__all__ = ["half_cheetah", "hopper", "walker2d", "walker2d_v5"]

_SKIN = (0.8, 0.6, 0.4, 1)
_GRASS = (0.8, 0.9, 0.8, 1)
_PINK = (0.9, 0.6, 0.6, 1)
_PURPLE = (0.7, 0.3, 0.6, 1)
_FREE: dict[str, Any] = {"armature": 0, "damping": 0, "limited": False, "stiffness": 0}
_DUSK = (0.4, 0.5, 0.6)
# The lengths come from a model in world coordinates, so they carry the rounding of differences.
_HALF_TORSO = 0.19999999999999996
_THIGH_DROP, _HALF_THIGH = 0.22500000000000009, 0.22500000000000003
_LEG_DROP = 0.70000000000000007
_FLAT = (0.70710678118654757, 0, -0.70710678118654746, 0)


def _floor(spec: Any, size: tuple[float, ...]) -> None:
    """Add the ground."""
    geom(
        spec.worldbody,
        "plane",
        "floor",
        size,
        conaffinity=1,
        condim=3,
        material="MatPlane",
        rgba=_GRASS,
    )


def _plane_joints(torso: Any, height: float) -> None:
    """Let the torso move in the plane, its height counted from the ground."""
    slide(torso, "rootx", (1, 0, 0), pos=(0, 0, -height), **_FREE)
    slide(torso, "rootz", (0, 0, 1), pos=(0, 0, -height), ref=height, **_FREE)
    hinge(torso, "rooty", (0, 1, 0), **_FREE)


def _torso(spec: Any) -> Any:
    """Add the upright torso of hopper and walker."""
    torso = spec.worldbody.add_body(name="torso", pos=(0, 0, 1.25))
    camera(torso, (0, -3, -0.25))
    _plane_joints(torso, 1.25)
    geom(torso, "capsule", "torso_geom", (0.05, _HALF_TORSO), friction=0.9)
    return torso


def _leg(
    torso: Any, side: str, toe: float, foot: tuple[float, float], grip: float, **colour: Any
) -> None:
    """Add thigh, leg and foot; the foot reaches from the heel to ``toe``."""
    back = (0, -1, 0)
    thigh = torso.add_body(name=f"thigh{side}", pos=(0, 0, -_HALF_TORSO))
    hinge(thigh, f"thigh{side}_joint", back, range=(-150, 0))
    geom(
        thigh,
        "capsule",
        f"thigh{side}_geom",
        (0.05, _HALF_THIGH),
        pos=(0, 0, -_THIGH_DROP),
        friction=0.9,
        **colour,
    )
    leg = thigh.add_body(name=f"leg{side}", pos=(0, 0, -_LEG_DROP))
    hinge(leg, f"leg{side}_joint", back, pos=(0, 0, 0.25), range=(-150, 0))
    geom(leg, "capsule", f"leg{side}_geom", (0.04, 0.25), friction=0.9, **colour)
    sole = leg.add_body(name=f"foot{side}", pos=(toe, 0, -0.35))
    hinge(sole, f"foot{side}_joint", back, pos=(-toe, 0, 0.1), range=(-45, 45))
    middle = (-toe / 2, 0, 0.1)
    geom(
        sole,
        "capsule",
        f"foot{side}_geom",
        foot,
        pos=middle,
        quat=_FLAT,
        friction=grip,
        **colour,
    )


def _leg_motors(spec: Any, sides: tuple[str, ...], gear: float) -> None:
    """Drive every joint of the legs."""
    parts = ("thigh", "leg", "foot")
    motors(spec, ((f"{part}{side}_joint", gear) for side in sides for part in parts), 1)


def hopper() -> Any:
    """Return the robot with one leg."""
    spec = new_model(
        "hopper",
        timestep=0.002,
        joints={"armature": 1, "damping": 1, "limited": True},
        geoms={
            "conaffinity": 1,
            "condim": 1,
            "contype": 1,
            "margin": 0.001,
            "material": "geom",
            "rgba": _SKIN,
            "solimp": (0.8, 0.8, 0.01),
            "solref": (0.02, 1),
        },
    )
    spec.visual.map.znear = 0.02
    scenery(spec, sky=_DUSK)
    light(spec)
    _floor(spec, (20, 20, 0.125))
    _leg(_torso(spec), "", 0.13, (0.06, 0.195), 2)
    _leg_motors(spec, ("",), 200)
    return spec


def _walker(right_grip: float) -> Any:
    spec = new_model(
        "walker2d",
        timestep=0.002,
        joints={"armature": 0.01, "damping": 0.1, "limited": True},
        geoms={
            "conaffinity": 0,
            "condim": 3,
            "contype": 1,
            "density": 1000,
            "friction": (0.7, 0.1, 0.1),
            "rgba": _SKIN,
        },
    )
    scenery(spec, sky=_DUSK)
    light(spec)
    _floor(spec, (40, 40, 40))
    torso = _torso(spec)
    _leg(torso, "", 0.2, (0.06, 0.1), right_grip)
    _leg(torso, "_left", 0.2, (0.06, 0.1), 1.9, rgba=_PURPLE)
    _leg_motors(spec, ("", "_left"), 100)
    return spec


def walker2d() -> Any:
    """Return the robot with two legs, of which the right one slips more."""
    return _walker(0.9)


def walker2d_v5() -> Any:
    """Return the robot with two equal legs."""
    return _walker(1.9)


# Limb: position of the body, damping, range, stiffness, gear; angle, position and half length of
# its geom; colour.
_CHEETAH: dict[str, tuple[Any, ...]] = {
    "bthigh": ((-0.5, 0), 6, (-0.52, 1.05), 240, 120, -3.8, (0.1, -0.13), 0.145, _SKIN),
    "bshin": ((0.16, -0.25), 4.5, (-0.785, 0.785), 180, 90, -2.03, (-0.14, -0.07), 0.15, _PINK),
    "bfoot": ((-0.28, -0.14), 3, (-0.4, 0.785), 120, 60, -0.27, (0.03, -0.097), 0.094, _PINK),
    "fthigh": ((0.5, 0), 4.5, (-1, 0.7), 180, 120, 0.52, (-0.07, -0.12), 0.133, _SKIN),
    "fshin": ((-0.14, -0.24), 3, (-1.2, 0.87), 120, 60, -0.6, (0.065, -0.09), 0.106, _PINK),
    "ffoot": ((0.13, -0.18), 1.5, (-0.5, 0.5), 60, 30, -0.6, (0.045, -0.07), 0.07, _PINK),
}


def half_cheetah() -> Any:
    """Return a torso with a hind leg and a fore leg."""
    spec = new_model(
        "cheetah",
        timestep=0.01,
        integrator="Euler",
        degree=False,
        joints={
            "armature": 0.1,
            "damping": 0.01,
            "limited": True,
            "solimp_limit": (0, 0.8, 0.03),
            "solref_limit": (0.02, 1),
            "stiffness": 8,
        },
        geoms={
            "conaffinity": 0,
            "condim": 3,
            "contype": 1,
            "friction": (0.4, 0.1, 0.1),
            "rgba": _SKIN,
            "solimp": (0, 0.8, 0.01),
            "solref": (0.02, 1),
        },
    )
    spec.nstack = 300000
    spec.nuser_geom = 1
    scenery(spec)
    light(spec)
    _floor(spec, (40, 40, 40))
    torso = spec.worldbody.add_body(name="torso", pos=(0, 0, 0.7))
    camera(torso, (0, -3, 0.3))
    _plane_joints(torso, 0)
    geom(torso, "capsule", "torso", (0.046,), fromto=(-0.5, 0, 0, 0.5, 0, 0))
    tilt = (0, 1, 0, 0.87)
    geom(torso, "capsule", "head", (0.046, 0.15), pos=(0.6, 0, 0.1), axisangle=tilt)
    body = torso
    for limb, row in _CHEETAH.items():
        (x, z), damping, limits, stiffness, _, angle, middle, half, colour = row
        body = (torso if limb.endswith("thigh") else body).add_body(name=limb, pos=(x, 0, z))
        hinge(body, limb, (0, 1, 0), range=limits, damping=damping, stiffness=stiffness)
        geom(
            body,
            "capsule",
            limb,
            (0.046, half),
            pos=(middle[0], 0, middle[1]),
            axisangle=(0, 1, 0, angle),
            rgba=colour,
        )
    motors(spec, ((limb, row[4]) for limb, row in _CHEETAH.items()), 1, named=True)
    return spec
