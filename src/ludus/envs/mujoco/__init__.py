"""Robots simulated by MuJoCo, and the base of robots of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_modules, lazy_names

if TYPE_CHECKING:
    from ludus.envs.mujoco.env import MujocoEnv
    from ludus.envs.mujoco.rendering import MujocoRenderer

__all__ = ["MujocoEnv", "MujocoRenderer"]

_MODULES = {"MujocoEnv": "env", "MujocoRenderer": "rendering"}

__getattr__ = lazy_names(__name__, _MODULES)

_ROBOTS = {
    "ant": ("ant", "Ant"),
    "half_cheetah": ("runners", "HalfCheetah"),
    "hopper": ("walkers", "Hopper"),
    "humanoid": ("humanoid", "Humanoid"),
    "humanoidstandup": ("humanoid", "HumanoidStandup"),
    "inverted_double_pendulum": ("pendulums", "InvertedDoublePendulum"),
    "inverted_pendulum": ("pendulums", "InvertedPendulum"),
    "reacher": ("arms", "Reacher"),
    "swimmer": ("runners", "Swimmer"),
    "walker2d": ("walkers", "Walker2d"),
}
"""Gymnasium has a module for each robot and version."""

_VIEWERS = ("BaseRender", "OffScreenViewer", "WindowViewer")

lazy_modules(
    __name__,
    {
        "mujoco_env": dict.fromkeys(
            ("DEFAULT_SIZE", "MujocoEnv", "expand_model_path"), f"{__name__}.env"
        ),
        "mujoco_rendering": {
            "MujocoRenderer": f"{__name__}.rendering",
            **dict.fromkeys(_VIEWERS, f"{__name__}.viewers"),
        },
        "pusher_v4": {"PusherEnv": f"{__name__}.arms:pusher_v4"},
        "pusher_v5": {"PusherEnv": f"{__name__}.arms"},
        **{
            f"{file}_v{version}": {
                f"{robot}Env": f"{__name__}.{module}:{robot}{suffix}",
                **({"mass_center": f"{__name__}.humanoid"} if file == "humanoid" else {}),
            }
            for file, (module, robot) in _ROBOTS.items()
            for version, suffix in ((4, "V4Env"), (5, "Env"))
        },
    },
)
