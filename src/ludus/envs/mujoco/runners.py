"""Swimmer and half cheetah, which cannot fall."""

from __future__ import annotations

from typing import Any, ClassVar

from ludus.envs.mujoco.arithmetic import Fields
from ludus.envs.mujoco.locomotion import LocomotionEnv

__all__ = ["HalfCheetahEnv", "HalfCheetahV4Env", "SwimmerEnv", "SwimmerV4Env"]

_REWARDS = {"reward_forward": "forward", "reward_ctrl": "effort"}


class SwimmerEnv(LocomotionEnv):
    """Swim along x by bending two joints."""

    hidden: ClassVar[int] = 2
    reset_infos: ClassVar = {
        "x_position": "x",
        "y_position": "y",
        "distance_from_origin": "distance",
    }
    step_infos: ClassVar = {
        **reset_infos,
        "x_velocity": "x_velocity",
        "y_velocity": "y_velocity",
        **_REWARDS,
    }

    def __init__(
        self,
        xml_file: str = "swimmer.xml",
        frame_skip: int = 4,
        default_camera_config: dict[str, Any] | None = None,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-4,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            xml_file, frame_skip, default_camera_config=default_camera_config, **kwargs
        )
        self._forward_reward_weight = forward_reward_weight
        self._ctrl_cost_weight = ctrl_cost_weight
        self._reset_noise_scale = reset_noise_scale
        self._set_up(exclude_current_positions_from_observation)

    def place(self, fields: Fields) -> tuple[Any, ...]:
        """Return where the first link is."""
        return +fields.qpos[0], +fields.qpos[1]


class SwimmerV4Env(SwimmerEnv):
    """Version 4, whose info names the forward reward twice."""

    reset_infos: ClassVar = {}
    step_infos: ClassVar = {
        "reward_fwd": "forward",
        "reward_ctrl": "effort",
        "x_position": "x",
        "y_position": "y",
        "distance_from_origin": "distance",
        "x_velocity": "x_velocity",
        "y_velocity": "y_velocity",
        "forward_reward": "forward",
    }


class HalfCheetahEnv(LocomotionEnv):
    """Run along x on two legs."""

    normal_velocities: ClassVar[bool] = True
    reset_infos: ClassVar = {"x_position": "x"}
    step_infos: ClassVar = {"x_position": "x", "x_velocity": "x_velocity", **_REWARDS}

    def __init__(
        self,
        xml_file: str = "half_cheetah.xml",
        frame_skip: int = 5,
        default_camera_config: dict[str, Any] | None = None,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 0.1,
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        camera = {"distance": 4.0} if default_camera_config is None else default_camera_config
        super().__init__(xml_file, frame_skip, default_camera_config=camera, **kwargs)
        self._forward_reward_weight = forward_reward_weight
        self._ctrl_cost_weight = ctrl_cost_weight
        self._reset_noise_scale = reset_noise_scale
        self._set_up(exclude_current_positions_from_observation)


class HalfCheetahV4Env(HalfCheetahEnv):
    """Version 4, which names the forward reward differently."""

    reset_infos: ClassVar = {}
    step_infos: ClassVar = {
        "x_position": "x",
        "x_velocity": "x_velocity",
        "reward_run": "forward",
        "reward_ctrl": "effort",
    }
