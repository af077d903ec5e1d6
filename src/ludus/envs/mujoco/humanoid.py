"""Humanoid: walk along x, or get up from the ground."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from ludus.envs.mujoco.arithmetic import Fields, clip, sum_of_squares
from ludus.envs.mujoco.locomotion import LocomotionEnv
from ludus.envs.mujoco.robot import Outcome

__all__ = [
    "HumanoidEnv",
    "HumanoidStandupEnv",
    "HumanoidStandupV4Env",
    "HumanoidV4Env",
    "mass_center",
]

_NO_LIMIT = -np.inf
_WALK: dict[str, Any] = {
    "trackbodyid": 1,
    "distance": 4.0,
    "lookat": np.array((0.0, 0.0, 2.0)),
    "elevation": -20.0,
}
_RISE: dict[str, Any] = {**_WALK, "lookat": np.array((0.0, 0.0, 0.8925))}
_TENDONS = {"tendon_length": "tendon_length", "tendon_velocity": "tendon_velocity"}
# The world's row is always zero, and the free joint of the torso has no motors.
_FELT = {"cinert": 1, "cvel": 1, "qfrc_actuator": 6, "cfrc_ext": 1}
_FELT_V4 = tuple((name, 0) for name in _FELT)
_READS = (*_FELT, "ten_length", "ten_velocity")
# Options that came with version 5 and would do nothing in version 4.
_NEW = {f"include_{name}_in_observation" for name in _FELT} | {
    f"{kind}_cost_{what}" for kind in ("contact", "impact") for what in ("weight", "range")
}


def mass_center(model: Any, data: Any) -> Any:
    """Return x and y of the centre of mass of all bodies, in a new array."""
    masses = model.body_mass
    return np.einsum("b,bj...->j...", masses, data.xipos)[:2] / masses.sum()


def _refuse_new(name: str, options: dict[str, Any]) -> None:
    """Refuse options of version 5 in version 4.

    Raises:
        TypeError: One of them is given.
    """
    for option in sorted(_NEW & options.keys()):
        raise TypeError(
            f"{name}-v4 got an unexpected keyword argument {option!r}, which {name}-v5 takes."
        )


class _Body(LocomotionEnv):
    """What a humanoid feels, whatever it is paid for."""

    hidden: ClassVar[int] = 2
    upward: ClassVar[int] = 2
    feels_everything: ClassVar[bool] = False
    """Whether observations hold whole fields, as in version 4."""

    def _feel(self, exclude_positions: bool, *included: bool) -> None:
        """Finish the construction; ``included`` says which fields are felt."""
        chosen = tuple(itertools.compress(_FELT.items(), included))
        self._parts = _FELT_V4 if self.feels_everything else chosen
        self._set_up(exclude_positions)
        sizes = self.observation_structure
        self.observation_structure = {
            **{name: sizes[name] for name in ("skipped_qpos", "qpos", "qvel")},
            # What is left out has a name, too.
            **{name: sizes.get(name, 0) for name in _FELT},
            "ten_length": 0,
            "ten_velocity": 0,
        }

    def _contact_cost(self, fields: Fields, weight: float, limits: tuple[float, float]) -> Any:
        squares = np.add.reduce(np.square(fields.cfrc_ext), axis=(0, 1))
        return clip(weight * squares, *limits)


class HumanoidEnv(_Body):
    """Walk along x without falling."""

    reads = ("xipos", *_READS)
    reset_infos: ClassVar = {
        "x_position": "x",
        "y_position": "y",
        **_TENDONS,
        "distance_from_origin": "distance",
    }
    step_infos: ClassVar = {
        **reset_infos,
        "x_velocity": "x_velocity",
        "y_velocity": "y_velocity",
        "reward_survive": "healthy",
        "reward_forward": "forward",
        "reward_ctrl": "effort",
        "reward_contact": "impact",
    }

    def __init__(
        self,
        xml_file: str = "humanoid.xml",
        frame_skip: int = 5,
        default_camera_config: dict[str, Any] = _WALK,
        forward_reward_weight: float = 1.25,
        ctrl_cost_weight: float = 0.1,
        contact_cost_weight: float = 5e-7,
        contact_cost_range: tuple[float, float] = (_NO_LIMIT, 10.0),
        healthy_reward: float = 5.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (1.0, 2.0),
        reset_noise_scale: float = 1e-2,
        exclude_current_positions_from_observation: bool = True,
        include_cinert_in_observation: bool = True,
        include_cvel_in_observation: bool = True,
        include_qfrc_actuator_in_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            xml_file, frame_skip, default_camera_config=default_camera_config, **kwargs
        )
        self._forward_reward_weight = forward_reward_weight
        self._ctrl_cost_weight = ctrl_cost_weight
        self._contact_cost_weight = contact_cost_weight
        self._contact_cost_range = contact_cost_range
        self._healthy_reward = healthy_reward
        self._terminate_when_unhealthy = terminate_when_unhealthy
        self._healthy_z_range = healthy_z_range
        self._reset_noise_scale = reset_noise_scale
        self._feel(
            exclude_current_positions_from_observation,
            include_cinert_in_observation,
            include_cvel_in_observation,
            include_qfrc_actuator_in_observation,
            include_cfrc_ext_in_observation,
        )

    def place(self, fields: Fields) -> tuple[Any, ...]:
        """Return the centre of mass, seen from above."""
        centre = mass_center(self.model, fields)
        return centre[0], centre[1]

    def effort(self, fields: Fields, action: Any) -> Any:
        """Return what the controls cost."""
        return self._ctrl_cost_weight * sum_of_squares(fields.ctrl)

    def impact(self, fields: Fields) -> Any:
        """Return what the contact forces cost, within the cost's range."""
        return self._contact_cost(fields, self._contact_cost_weight, self._contact_cost_range)

    def healthy(self, fields: Fields) -> Any:
        """Tell whether the torso is high enough, and not too high."""
        low, high = self._healthy_z_range
        return (low < fields.qpos[2]) & (fields.qpos[2] < high)


class HumanoidV4Env(HumanoidEnv):
    """Version 4: everything is felt, contacts cost nothing, the fall is paid like a step."""

    pays_until_the_end: ClassVar[bool] = True
    feels_everything: ClassVar[bool] = True
    reset_infos: ClassVar = {}
    step_infos: ClassVar = {
        "reward_linvel": "forward",
        "reward_quadctrl": "effort",
        "reward_alive": "healthy",
        "x_position": "place_x",
        "y_position": "place_y",
        "distance_from_origin": "place_distance",
        "x_velocity": "x_velocity",
        "y_velocity": "y_velocity",
        "forward_reward": "forward",
    }

    def __init__(
        self,
        forward_reward_weight: float = 1.25,
        ctrl_cost_weight: float = 0.1,
        healthy_reward: float = 5.0,
        terminate_when_unhealthy: bool = True,
        healthy_z_range: tuple[float, float] = (1.0, 2.0),
        reset_noise_scale: float = 1e-2,
        exclude_current_positions_from_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        _refuse_new("Humanoid", kwargs)
        super().__init__(
            forward_reward_weight=forward_reward_weight,
            ctrl_cost_weight=ctrl_cost_weight,
            healthy_reward=healthy_reward,
            terminate_when_unhealthy=terminate_when_unhealthy,
            healthy_z_range=healthy_z_range,
            reset_noise_scale=reset_noise_scale,
            exclude_current_positions_from_observation=exclude_current_positions_from_observation,
            **kwargs,
        )

    def impact(self, fields: Fields) -> Any:
        """Return nothing."""
        return 0.0


class HumanoidStandupEnv(_Body):
    """Get up from the ground; the height of the torso is paid in every step."""

    reads = _READS
    reset_infos: ClassVar = {
        "x_position": "x",
        "y_position": "y",
        "z_distance_from_origin": "rise",
        **_TENDONS,
    }

    def __init__(
        self,
        xml_file: str = "humanoidstandup.xml",
        frame_skip: int = 5,
        default_camera_config: dict[str, Any] = _RISE,
        uph_cost_weight: float = 1,
        ctrl_cost_weight: float = 0.1,
        impact_cost_weight: float = 0.5e-6,
        impact_cost_range: tuple[float, float] = (_NO_LIMIT, 10.0),
        reset_noise_scale: float = 1e-2,
        exclude_current_positions_from_observation: bool = True,
        include_cinert_in_observation: bool = True,
        include_cvel_in_observation: bool = True,
        include_qfrc_actuator_in_observation: bool = True,
        include_cfrc_ext_in_observation: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            xml_file, frame_skip, default_camera_config=default_camera_config, **kwargs
        )
        self._uph_cost_weight = uph_cost_weight
        self._ctrl_cost_weight = ctrl_cost_weight
        self._impact_cost_weight = impact_cost_weight
        self._impact_cost_range = impact_cost_range
        self._reset_noise_scale = reset_noise_scale
        self._feel(
            exclude_current_positions_from_observation,
            include_cinert_in_observation,
            include_cvel_in_observation,
            include_qfrc_actuator_in_observation,
            include_cfrc_ext_in_observation,
        )

    def outcome(self, fields: Fields, action: Any, before: Any) -> Outcome:
        """Pay height; charge effort and impacts."""
        # Gymnasium takes a weight for the height and does not apply it; the rewards stay equal.
        height = fields.qpos[2] / self._physics.timestep
        effort = self._ctrl_cost_weight * sum_of_squares(fields.ctrl)
        impact = self._contact_cost(fields, self._impact_cost_weight, self._impact_cost_range)
        info = {
            **self.reset_info(fields),
            "reward_linup": height,
            "reward_quadctrl": -effort,
            "reward_impact": -impact,
        }
        return height - effort - impact + 1, False, info


class HumanoidStandupV4Env(HumanoidStandupEnv):
    """Version 4: everything is felt, and the info holds the rewards only."""

    feels_everything: ClassVar[bool] = True
    reset_infos: ClassVar = {}

    def __init__(self, **kwargs: Any) -> None:
        _refuse_new("HumanoidStandup", kwargs)
        super().__init__(**kwargs)
