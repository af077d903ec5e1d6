"""The vocabulary models are written in: a few words over MjSpec."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ludus.envs.mujoco.engine import import_mujoco

__all__ = ["assign", "camera", "geom", "hinge", "light", "motors", "new_model", "scenery", "slide"]


def assign(element: Any, fields: dict[str, Any]) -> None:
    """Set fields of an element; of an array, only as many leading entries as were given."""
    for name, value in fields.items():
        present = getattr(element, name)
        if isinstance(present, np.ndarray):
            given = np.atleast_1d(value)
            value = np.concatenate([given, present.ravel()[len(given) :]])
        setattr(element, name, value)


def new_model(
    name: str,
    *,
    timestep: float,
    integrator: str = "RK4",
    degree: bool = True,
    joints: dict[str, Any] | None = None,
    geoms: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Return an empty model whose joints and geoms start from the given fields.

    ``options`` are fields of the physics options, such as gravity or density.
    """
    mujoco = import_mujoco()
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.degree = degree
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    spec.option.timestep = timestep
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    assign(spec.option, options)
    for target, fields in ((spec.default.joint, joints), (spec.default.geom, geoms)):
        assign(target, fields or {})
    return spec


def geom(body: Any, kind: str, name: str, size: Sequence[float], **fields: Any) -> None:
    """Add a geom; ``size`` may leave out what the shape does not need."""
    turned = {"axisangle": fields.pop("axisangle")} if "axisangle" in fields else {}
    shape = getattr(import_mujoco().mjtGeom, f"mjGEOM_{kind.upper()}")
    assign(body.add_geom(name=name, type=shape, **turned), {"size": size, **fields})


def hinge(body: Any, name: str, axis: Sequence[float], **fields: Any) -> None:
    """Add a rotating joint."""
    kind = import_mujoco().mjtJoint.mjJNT_HINGE
    assign(body.add_joint(name=name, type=kind, axis=axis), fields)


def slide(body: Any, name: str, axis: Sequence[float], **fields: Any) -> None:
    """Add a sliding joint."""
    kind = import_mujoco().mjtJoint.mjJNT_SLIDE
    assign(body.add_joint(name=name, type=kind, axis=axis), fields)


def motors(
    spec: Any, rows: Iterable[tuple[str, float]], limit: float, *, named: bool = False
) -> None:
    """Add one motor for each pair of joint and gear, with controls in ±``limit``."""
    transmission = import_mujoco().mjtTrn.mjTRN_JOINT
    for joint, gear in rows:
        motor = spec.add_actuator(
            trntype=transmission,
            target=joint,
            gear=[gear, 0, 0, 0, 0, 0],
            ctrllimited=True,
            ctrlrange=[-limit, limit],
        )
        if named:
            motor.name = joint


def camera(body: Any, pos: Sequence[float], up: Sequence[float] = (0, 0, 1)) -> None:
    """Add the camera that follows the centre of mass, its horizontal axis along x."""
    mujoco = import_mujoco()
    body.add_camera(
        name="track",
        mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM,
        pos=pos,
        xyaxes=[1, 0, 0, *up],
    )


def light(spec: Any) -> None:
    """Add the lamp straight above."""
    spec.worldbody.add_light(
        type=import_mujoco().mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0, 0, 1.3],
        dir=[0, 0, -1.3],
        cutoff=100,
        exponent=1,
        diffuse=[1, 1, 1],
        specular=[0.1, 0.1, 0.1],
    )


def scenery(spec: Any, *, sky: Sequence[float] = (1, 1, 1), tiles: int = 60) -> None:
    """Add the sky, the skin of the bodies and the chequered floor as textures and materials."""
    mujoco = import_mujoco()
    kinds, patterns, roles = mujoco.mjtTexture, mujoco.mjtBuiltin, mujoco.mjtTextureRole
    spec.add_texture(
        type=kinds.mjTEXTURE_SKYBOX,
        builtin=patterns.mjBUILTIN_GRADIENT,
        rgb1=sky,
        rgb2=[0, 0, 0],
        width=100,
        height=100,
    )
    spec.add_texture(
        name="texgeom",
        type=kinds.mjTEXTURE_CUBE,
        builtin=patterns.mjBUILTIN_FLAT,
        mark=mujoco.mjtMark.mjMARK_CROSS,
        markrgb=[1, 1, 1],
        random=0.01,
        rgb1=[0.8, 0.6, 0.4],
        rgb2=[0.8, 0.6, 0.4],
        width=127,
        height=1278,
    )
    spec.add_texture(
        name="texplane",
        type=kinds.mjTEXTURE_2D,
        builtin=patterns.mjBUILTIN_CHECKER,
        rgb1=[0, 0, 0],
        rgb2=[0.8, 0.8, 0.8],
        width=100,
        height=100,
    )
    floor = spec.add_material(
        name="MatPlane", reflectance=0.5, shininess=1, specular=1, texrepeat=[tiles, tiles]
    )
    floor.textures[roles.mjTEXROLE_RGB] = "texplane"
    skin = spec.add_material(name="geom", texuniform=True)
    skin.textures[roles.mjTEXROLE_RGB] = "texgeom"
