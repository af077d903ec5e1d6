"""The robots, each built by a function that returns an MjSpec.

A robot is known by the file name that Gymnasium gives it; anything else is the path of a file.
"""

from __future__ import annotations

import copy
import functools
from importlib import import_module
from pathlib import Path
from typing import Any

from ludus.envs.mujoco.engine import import_mujoco

__all__ = ["BUILDERS", "expand_model_path", "load_model"]

BUILDERS = {
    "ant.xml": "ant:ant",
    "half_cheetah.xml": "planar:half_cheetah",
    "hopper.xml": "planar:hopper",
    "humanoid.xml": "humanoid:humanoid",
    "humanoidstandup.xml": "humanoid:humanoidstandup",
    "inverted_double_pendulum.xml": "pendulums:inverted_double_pendulum",
    "inverted_pendulum.xml": "pendulums:inverted_pendulum",
    "point.xml": "point:point",
    "pusher_v5.xml": "arms:pusher",
    "reacher.xml": "arms:reacher",
    "swimmer.xml": "swimmer:swimmer",
    "walker2d.xml": "planar:walker2d",
    "walker2d_v5.xml": "planar:walker2d_v5",
}
_TOTAL_MASS = {"half_cheetah.xml": 14.0}


@functools.cache
def _built(name: str) -> Any:
    """Compile a robot, once: drawing its textures takes longer than a hundred steps."""
    module, _, function = BUILDERS[name].partition(":")
    model = getattr(import_module(f"{__name__}.{module}"), function)().compile()
    if name in _TOTAL_MASS:
        _scale_masses(model, _TOTAL_MASS[name])
    return model


def _scale_masses(model: Any, total: float) -> None:
    """Scale all masses and inertias, and what the compiler had derived from them."""
    mujoco = import_mujoco()
    mujoco.mj_setTotalmass(model, total)
    mujoco.mj_setConst(model, mujoco.MjData(model))
    # Only the compiler computes these two; the solver's tolerance depends on the second.
    model.stat.meanmass = sum(model.body_mass[1:].tolist()) / (model.nbody - 1)
    model.stat.meaninertia = sum(model.dof_M0.tolist()) / model.nv


def expand_model_path(model_path: str) -> str:
    """Return the path of a file, ``~`` expanded; the name of a built-in robot stays as it is.

    Raises:
        OSError: The name is neither a robot's nor that of a file.
    """
    if model_path in BUILDERS:
        return model_path
    path = Path(model_path).expanduser()
    if not path.exists():
        raise OSError(
            f"File {path} does not exist; give the path of an MJCF file or one of "
            f"{sorted(BUILDERS)}."
        )
    return str(path)


def load_model(model_path: str) -> Any:
    """Return a model of the caller's own, built in or read from a file.

    Raises:
        DependencyNotInstalled: mujoco is missing.
        OSError: The name is neither a robot's nor that of a file.
    """
    mujoco = import_mujoco()
    if model_path in BUILDERS:
        return copy.copy(_built(model_path))
    return mujoco.MjModel.from_xml_path(expand_model_path(model_path))
