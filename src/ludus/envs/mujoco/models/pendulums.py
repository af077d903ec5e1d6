"""A cart on a rail, carrying one pole or two."""

from __future__ import annotations

from typing import Any

from ludus.envs.mujoco.engine import import_mujoco
from ludus.envs.mujoco.models.parts import geom, hinge, motors, new_model, slide

__all__ = ["inverted_double_pendulum", "inverted_pendulum"]

_GEOMS: dict[str, Any] = {
    "contype": 0,
    "friction": (1, 0.1, 0.1),
    "rgba": (0.7, 0.7, 0, 1),
}
_ALONG_X = (0.707, 0, 0.707, 0)
_BLUE = (0.3, 0.3, 0.7, 1)
_TEAL = (0, 0.7, 0.7, 1)


def _cart(spec: Any, **slider: Any) -> Any:
    """Add rail and cart, and return the cart."""
    geom(spec.worldbody, "capsule", "rail", (0.02, 1), quat=_ALONG_X, rgba=_BLUE)
    cart = spec.worldbody.add_body(name="cart")
    slide(cart, "slider", (1, 0, 0), limited=True, range=(-1, 1), **slider)
    geom(cart, "capsule", "cart", (0.1, 0.1), quat=_ALONG_X)
    return cart


def _motor(spec: Any, gear: float, limit: float) -> None:
    """Add the motor that pushes the cart."""
    spec.nstack = 3000
    motors(spec, (("slider", gear),), limit)
    spec.actuators[0].name = "slide"


def inverted_pendulum() -> Any:
    """Return the cart with one pole."""
    spec = new_model(
        "inverted pendulum",
        timestep=0.02,
        joints={"armature": 0, "damping": 1, "limited": True},
        geoms=_GEOMS,
    )
    pole = _cart(spec).add_body(name="pole")
    hinge(pole, "hinge", (0, 1, 0), range=(-90, 90))
    geom(pole, "capsule", "cpole", (0.049, 0.3), fromto=(0, 0, 0, 0.001, 0, 0.6), rgba=_TEAL)
    _motor(spec, 100, 3)
    return spec


def inverted_double_pendulum() -> Any:
    """Return the cart with two poles, one on top of the other."""
    spec = new_model(
        "cartpole",
        timestep=0.01,
        gravity=(1e-5, 0, -9.81),
        joints={"damping": 0.05},
        geoms=_GEOMS,
    )
    spec.add_numeric(name="frame_skip", data=[2], size=1)
    geom(spec.worldbody, "plane", "floor", (40, 40, 40), pos=(0, 0, -3), rgba=(0.8, 0.9, 0.8, 1))
    body, height = _cart(spec, margin=0.01), 0.0
    for number in ("", "2"):
        body = body.add_body(name=f"pole{number}", pos=(0, 0, height))
        hinge(body, f"hinge{number}", (0, 1, 0))
        along = (0, 0, 0, 0, 0, 0.6)
        geom(body, "capsule", f"cpole{number}", (0.045, 0.3), fromto=along, rgba=_TEAL)
        height = 0.6
    sphere = import_mujoco().mjtGeom.mjGEOM_SPHERE
    body.add_site(name="tip", type=sphere, pos=(0, 0, 0.6), size=(0.01, 0.01, 0.005))
    _motor(spec, 500, 1)
    return spec
