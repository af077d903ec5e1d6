"""Walker and hopper, whose episodes end when they fall."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.envs.mujoco.arithmetic import Fields, flag_as
from ludus.envs.mujoco.locomotion import LocomotionEnv

__all__ = ["HopperEnv", "HopperV4Env", "Walker2dEnv", "Walker2dV4Env"]

_INF = float("inf")
_SIDE: dict[str, Any] = {
    "trackbodyid": 2,
    "distance": 4.0,
    "lookat": np.array((0.0, 0.0, 1.15)),
    "elevation": -20.0,
}


class Walker2dEnv(LocomotionEnv):
    """Walk along x on two legs without falling."""

    fastest: ClassVar = 10.0
    reset_infos: ClassVar = {"x_position": "x", "z_distance_from_origin": "rise"}
    step_infos: ClassVar = {
        **reset_infos,
        "x_velocity": "x_velocity",
        "reward_forward": "forward",
        "reward_ctrl": "effort",
        "reward_survive": "healthy",
    }

    def __init__(
        self,
        xml_file: str = "walker2d_v5.xml",
        frame_skip: int = 4,
        default_camera_config: dict[str, Any] = _SIDE,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-3,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.8, 2.0),
        healthy_angle_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            xml_file, frame_skip, default_camera_config=default_camera_config, **kwargs
        )
        self._forward_reward_weight = forward_reward_weight
        self._ctrl_cost_weight = ctrl_cost_weight
        self._healthy_reward = healthy_reward
        self._terminate_when_unhealthy = terminate_when_unhealthy
        self._healthy_z_range = healthy_z_range
        self._healthy_angle_range = healthy_angle_range
        self._reset_noise_scale = reset_noise_scale
        self._set_up(exclude_current_positions_from_observation)

    def healthy(self, fields: Fields) -> Any:
        """Tell whether height and lean of the torso are within their ranges."""
        z, angle = fields.qpos[1], fields.qpos[2]
        (low, high), (left, right) = self._healthy_z_range, self._healthy_angle_range
        return (low < z) & (z < high) & (left < angle) & (angle < right)


class Walker2dV4Env(Walker2dEnv):
    """Version 4: a slippery right foot, a shorter info, and the fall is paid like a step."""

    pays_until_the_end: ClassVar[bool] = True
    reset_infos: ClassVar = {}
    step_infos: ClassVar = {"x_position": "x", "x_velocity": "x_velocity"}

    def __init__(self, xml_file: str = "walker2d.xml", **kwargs: Any) -> None:
        super().__init__(xml_file, **kwargs)


class HopperEnv(Walker2dEnv):
    """Hop along x on one leg without falling."""

    def __init__(
        self,
        xml_file: str = "hopper.xml",
        frame_skip: int = 4,
        default_camera_config: dict[str, Any] | None = None,
        forward_reward_weight: float = 1.0,
        ctrl_cost_weight: float = 1e-3,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_state_range: tuple[float, float] = (-100.0, 100.0),
        healthy_z_range: tuple[float, float] = (0.7, _INF),
        healthy_angle_range: tuple[float, float] = (-0.2, 0.2),
        reset_noise_scale: float = 5e-3,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        near = {**_SIDE, "distance": 3.0}
        self._healthy_state_range = healthy_state_range
        super().__init__(
            xml_file,
            frame_skip,
            near if default_camera_config is None else default_camera_config,
            forward_reward_weight,
            ctrl_cost_weight,
            healthy_reward,
            terminate_when_unhealthy,
            healthy_z_range,
            healthy_angle_range,
            reset_noise_scale,
            exclude_current_positions_from_observation,
            **kwargs,
        )

    def healthy(self, fields: Fields) -> Any:
        """Tell whether height, lean and all other coordinates are within their ranges."""
        low, high = self._healthy_state_range
        state = np.concatenate([fields.qpos[2:], fields.qvel])
        inside = ((low < state) & (state < high)).all(0)
        return flag_as(bool, inside & super().healthy(fields))


class HopperV4Env(HopperEnv):
    """Version 4: a shorter info, and the fall is paid like a step."""

    pays_until_the_end: ClassVar[bool] = True
    reset_infos: ClassVar = {}
    step_infos: ClassVar = {"x_position": "x", "x_velocity": "x_velocity"}
