"""A body with two legs and two arms, standing or lying."""

from __future__ import annotations

from typing import Any, NamedTuple

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

__all__ = ["humanoid", "humanoidstandup"]

_Numbers = tuple[float, ...]
_X, _Y, _Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
_LEAN = (1.0, 0, -0.002, 0)
_GEARS: dict[str, float] = {
    "abdomen_y": 100,
    "abdomen_z": 100,
    "abdomen_x": 100,
    "right_hip_x": 100,
    "right_hip_z": 100,
    "right_hip_y": 300,
    "right_knee": 200,
    "left_hip_x": 100,
    "left_hip_z": 100,
    "left_hip_y": 300,
    "left_knee": 200,
    "right_shoulder1": 25,
    "right_shoulder2": 25,
    "right_elbow": 25,
    "left_shoulder1": 25,
    "left_shoulder2": 25,
    "left_elbow": 25,
}


class _Posture(NamedTuple):
    """What differs between standing and lying."""

    name: str
    height: float
    eye: _Numbers
    head: _Numbers
    waist: _Numbers
    lower_waist: _Numbers
    pelvis: _Numbers
    hip_z: float
    thigh: tuple[float, float]
    knee: tuple[float, float]
    shin: tuple[float, float]
    foot: _Numbers
    left_hip_y: tuple[int, int]


_STANDING = _Posture(
    name="humanoid",
    height=1.4,
    eye=(0, -4, 0),
    head=(0, 0, 0.19),
    waist=(-0.01, -0.12),
    lower_waist=(-0.01, 0, -0.26),
    pelvis=(0, 0, -0.165),
    hip_z=-0.04,
    thigh=(0, -0.34),
    knee=(0, -0.403),
    shin=(0, -0.3),
    foot=(0, 0, -0.45),
    left_hip_y=(-110, 20),
)
_LYING = _Posture(
    name="humanoidstandup",
    height=0.105,
    eye=(0, -3, 0.5),
    head=(-0.15, 0, 0),
    waist=(0.11, 0),
    lower_waist=(0.21, 0, 0),
    pelvis=(0.165, 0, 0),
    hip_z=0,
    thigh=(0.34, 0),
    knee=(0.403, 0),
    shin=(0.3, 0),
    foot=(0.35, 0, -0.1),
    left_hip_y=(-120, 20),
)


def _trunk(torso: Any, posture: _Posture) -> Any:
    """Add head, waist and pelvis, and return the pelvis."""
    geom(torso, "capsule", "torso1", (0.07,), fromto=(0, -0.07, 0, 0, 0.07, 0))
    geom(torso, "sphere", "head", (0.09,), pos=posture.head, userdata=[258])
    x, z = posture.waist
    geom(torso, "capsule", "uwaist", (0.06,), fromto=(x, -0.06, z, x, 0.06, z))
    waist = torso.add_body(name="lwaist", pos=posture.lower_waist, quat=_LEAN)
    geom(waist, "capsule", "lwaist", (0.06,), fromto=(0, -0.06, 0, 0, 0.06, 0))
    spine: dict[str, Any] = {"armature": 0.02, "damping": 5}
    above = (0, 0, 0.065)
    hinge(waist, "abdomen_z", _Z, pos=above, range=(-45, 45), stiffness=20, **spine)
    hinge(waist, "abdomen_y", _Y, pos=above, range=(-75, 30), stiffness=10, **spine)
    pelvis = waist.add_body(name="pelvis", pos=posture.pelvis, quat=_LEAN)
    hinge(pelvis, "abdomen_x", _X, pos=(0, 0, 0.1), range=(-35, 35), stiffness=10, **spine)
    geom(pelvis, "capsule", "butt", (0.09,), fromto=(-0.02, -0.07, 0, -0.02, 0.07, 0))
    return pelvis


def _leg(pelvis: Any, posture: _Posture, side: str) -> None:
    """Add one leg; the left one mirrors the right, but for a few constants of the original."""
    right = side == "right"
    sign = 1 if right else -1
    thigh = pelvis.add_body(name=f"{side}_thigh", pos=(0, -0.1 * sign, posture.hip_z))
    stiff: dict[str, Any] = {"damping": 5, "armature": 0.01}
    hinge(thigh, f"{side}_hip_x", (sign, 0, 0), range=(-25, 5), stiffness=10, **stiff)
    hinge(thigh, f"{side}_hip_z", (0, 0, sign), range=(-60, 35), stiffness=10, **stiff)
    stiff["armature"] = 0.008 if right else 0.01
    swing = (-110, 20) if right else posture.left_hip_y
    hinge(thigh, f"{side}_hip_y", _Y, range=swing, stiffness=20, **stiff)
    y, (x, z) = 0.01 * sign, posture.thigh
    geom(thigh, "capsule", f"{side}_thigh1", (0.06,), fromto=(0, 0, 0, x, y, z))
    x, z = posture.knee
    shin = thigh.add_body(name=f"{side}_shin", pos=(x, y, z))
    bend: dict[str, Any] = {"range": (-160, -2), "stiffness": 0 if right else 1}
    hinge(shin, f"{side}_knee", (0, -1, 0), pos=(0, 0, 0.02), armature=0.006, **bend)
    x, z = posture.shin
    geom(shin, "capsule", f"{side}_shin1", (0.049,), fromto=(0, 0, 0, x, 0, z))
    foot = shin.add_body(name=f"{side}_foot", pos=posture.foot)
    geom(foot, "sphere", f"{side}_foot", (0.075,), pos=(0, 0, 0.1), userdata=[0])


def _arm(torso: Any, side: str) -> None:
    """Add one arm; the right hand carries a camera."""
    right = side == "right"
    sign = 1 if right else -1
    limits = (-85, 60) if right else (-60, 85)
    upper = torso.add_body(name=f"{side}_upper_arm", pos=(0, -0.17 * sign, 0.06))
    joint: dict[str, Any] = {"range": limits, "stiffness": 1}
    hinge(upper, f"{side}_shoulder1", (2, sign, 1), armature=0.0068, **joint)
    hinge(upper, f"{side}_shoulder2", (0, -sign, 1), armature=0.0051, **joint)
    line: _Numbers = (0, 0, 0, 0.16, -0.16 * sign, -0.16)
    geom(upper, "capsule", f"{side}_uarm1", (0.04, 0.16), fromto=line)
    lower = upper.add_body(name=f"{side}_lower_arm", pos=(0.18, -0.18 * sign, -0.18))
    hinge(lower, f"{side}_elbow", (0, -1, sign), armature=0.0028, range=(-90, 50))
    line = (0.01, 0.01 * sign, 0.01, 0.17, 0.17 * sign, 0.17)
    geom(lower, "capsule", f"{side}_larm", (0.031,), fromto=line)
    geom(lower, "sphere", f"{side}_hand", (0.04,), pos=(0.18, 0.18 * sign, 0.18))
    if right:
        lower.add_camera()


def _build(posture: _Posture) -> Any:
    mujoco = import_mujoco()
    spec = new_model(
        posture.name,
        timestep=0.003,
        iterations=50,
        solver=mujoco.mjtSolver.mjSOL_PGS,
        joints={"armature": 1, "damping": 1, "limited": True},
        geoms={
            "conaffinity": 1,
            "condim": 1,
            "contype": 1,
            "margin": 0.001,
            "material": "geom",
            "rgba": (0.8, 0.6, 0.4, 1),
        },
    )
    spec.nkey, spec.nuser_geom = 5, 1
    spec.visual.map.fogstart, spec.visual.map.fogend = 3, 5
    scenery(spec, sky=(0.4, 0.5, 0.6))
    light(spec)
    ground: dict[str, Any] = {"material": "MatPlane", "rgba": (0.8, 0.9, 0.8, 1), "condim": 3}
    geom(spec.worldbody, "plane", "floor", (20, 20, 0.125), friction=(1, 0.1, 0.1), **ground)
    torso = spec.worldbody.add_body(name="torso", pos=(0, 0, posture.height))
    camera(torso, posture.eye)
    root = torso.add_joint(name="root", type=mujoco.mjtJoint.mjJNT_FREE)
    assign(root, {"armature": 0, "damping": 0, "limited": False, "stiffness": 0})
    pelvis = _trunk(torso, posture)
    for side in ("right", "left"):
        _leg(pelvis, posture, side)
    for side in ("right", "left"):
        _arm(torso, side)
    for side in ("left", "right"):
        tendon = spec.add_tendon(name=f"{side}_hipknee")
        tendon.wrap_joint(f"{side}_hip_y", -1)
        tendon.wrap_joint(f"{side}_knee", 1)
    motors(spec, _GEARS.items(), 0.4, named=True)
    return spec


def humanoid() -> Any:
    """Return the body, standing."""
    return _build(_STANDING)


def humanoidstandup() -> Any:
    """Return the body, lying on its back."""
    return _build(_LYING)
