"""Ant: walk along x on four legs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.envs.mujoco.arithmetic import Array, Fields, all_finite, clip
from ludus.envs.mujoco.locomotion import LocomotionEnv
from ludus.envs.mujoco.robot import Outcome

__all__ = ["AntEnv", "AntV4Env"]


class AntEnv(LocomotionEnv):
    """Walk along x on four legs; contact forces are felt, and cost."""

    hidden: ClassVar[int] = 2
    upward: ClassVar[int] = 2
    normal_velocities: ClassVar[bool] = True
    reset_infos: ClassVar = {
        "x_position": "x",
        "y_position": "y",
        "distance_from_origin": "distance",
    }
    step_infos: ClassVar = {
        **reset_infos,
        "x_velocity": "x_velocity",
        "y_velocity": "y_velocity",
        "reward_forward": "forward",
        "reward_ctrl": "effort",
        "reward_contact": "impact",
        "reward_survive": "healthy",
    }
    reads: tuple[str, ...] = ("xpos", "cfrc_ext")
    _first_body: ClassVar[int] = 1

    def __init__(
        self,
        xml_file: str = "ant.xml",
        frame_skip: int = 5,
        default_camera_config: dict[str, Any] | None = None,
        forward_reward_weight: float = 1,
        ctrl_cost_weight: float = 0.5,
        contact_cost_weight: float = 5e-4,
        healthy_reward: float = 1.0,
        main_body: int | str = 1,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.2, 1.0),
        contact_force_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        camera = {"distance": 4.0} if default_camera_config is None else default_camera_config
        super().__init__(xml_file, frame_skip, default_camera_config=camera, **kwargs)
        self._forward_reward_weight = forward_reward_weight
        self._ctrl_cost_weight = ctrl_cost_weight
        self._contact_cost_weight = contact_cost_weight
        self._healthy_reward = healthy_reward
        self._terminate_when_unhealthy = terminate_when_unhealthy
        self._healthy_z_range = healthy_z_range
        self._contact_force_range = contact_force_range
        self._main = self.model.body(main_body).id
        self._reset_noise_scale = reset_noise_scale
        if include_cfrc_ext_in_observation:
            self._parts = (("cfrc_ext", self._first_body),)
        self._set_up(exclude_current_positions_from_observation)
        # What is left out has a name, too.
        self.observation_structure.setdefault("cfrc_ext", 0)

    def place(self, fields: Fields) -> tuple[Any, ...]:
        """Return where the main body was when the engine last looked."""
        return +fields.xpos[self._main, 0], +fields.xpos[self._main, 1]

    @property
    def contact_forces(self) -> Array:
        """Forces and torques on each body, clipped."""
        forces: Array = clip(self.data.cfrc_ext, *self._contact_force_range)
        return forces

    def impact(self, fields: Fields) -> Any:
        """Return what the contact forces cost."""
        forces = clip(fields.cfrc_ext, *self._contact_force_range)
        return self._contact_cost_weight * np.add.reduce(np.square(forces), axis=(0, 1))

    def healthy(self, fields: Fields) -> Any:
        """Tell whether all numbers are finite and the height is within its range."""
        low, high = self._healthy_z_range
        height = fields.qpos[2]
        return all_finite(fields) & (low <= height) & (height <= high)

    def features(self, fields: Fields) -> list[Array]:
        """Return positions, velocities and, if wanted, clipped contact forces."""
        place, speed, *felt = fields.seen
        return [place, speed, *(clip(part, *self._contact_force_range) for part in felt)]


class AntV4Env(AntEnv):
    """Version 4: contact forces count only if asked for; the fall is paid like a step."""

    pays_until_the_end: ClassVar[bool] = True
    reset_infos: ClassVar = {}
    step_infos: ClassVar = {
        "reward_forward": "forward",
        "reward_ctrl": "effort",
        "reward_survive": "healthy",
        "x_position": "place_x",
        "y_position": "place_y",
        "distance_from_origin": "place_distance",
        "x_velocity": "x_velocity",
        "y_velocity": "y_velocity",
        "forward_reward": "forward",
    }
    _first_body: ClassVar[int] = 0

    def __init__(
        self,
        xml_file: str = "ant.xml",
        ctrl_cost_weight: float = 0.5,
        use_contact_forces: bool = False,
        contact_cost_weight: float = 5e-4,
        healthy_reward: float = 1.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (0.2, 1.0),
        contact_force_range: tuple[float, float] = (-1.0, 1.0),
        reset_noise_scale: float = 0.1,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        self._use_contact_forces = use_contact_forces
        if not use_contact_forces:
            self.reads = ("xpos",)
        super().__init__(
            xml_file,
            ctrl_cost_weight=ctrl_cost_weight,
            contact_cost_weight=contact_cost_weight,
            healthy_reward=healthy_reward,
            main_body="torso",
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            contact_force_range=contact_force_range,
            reset_noise_scale=reset_noise_scale,
            exclude_current_positions_from_observation=exclude_current_positions_from_observation,
            include_cfrc_ext_in_observation=use_contact_forces,
            **kwargs,
        )

    def impact(self, fields: Fields) -> Any:
        """Return what the contact forces cost, if they count."""
        return super().impact(fields) if self._use_contact_forces else 0.0

    def outcome(self, fields: Fields, action: Any, before: Any) -> Outcome:
        """Count a step; the cost of contacts, if any, stands in the info where effort was."""
        reward, ended, info = super().outcome(fields, action, before)
        if self._use_contact_forces:
            info["reward_ctrl"] = -self.impact(fields)
        return reward, ended, info
