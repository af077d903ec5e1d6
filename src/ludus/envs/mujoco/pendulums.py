"""A cart that balances one pole, or two."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludus.envs.mujoco.arithmetic import Array, Fields, all_finite, clip, flag_as, negated
from ludus.envs.mujoco.robot import Outcome, RobotEnv

__all__ = [
    "InvertedDoublePendulumEnv",
    "InvertedDoublePendulumV4Env",
    "InvertedPendulumEnv",
    "InvertedPendulumV4Env",
]

_NEAR: dict[str, Any] = {"trackbodyid": 0, "distance": 2.04}
_FAR: dict[str, Any] = {
    "trackbodyid": 0,
    "distance": 4.1225,
    "lookat": np.array((0.0, 0.0, 0.12250000000000005)),
}


class InvertedPendulumEnv(RobotEnv):
    """Keep a pole within 0.2 rad of upright by pushing the cart it stands on."""

    def __init__(
        self,
        xml_file: str = "inverted_pendulum.xml",
        frame_skip: int = 2,
        default_camera_config: dict[str, Any] = _NEAR,
        reset_noise_scale: float = 0.01,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            xml_file, frame_skip, default_camera_config=default_camera_config, **kwargs
        )
        self._reset_noise_scale = reset_noise_scale
        self._ready()
        self.observation_structure = {"qpos": self.model.nq, "qvel": self.model.nv}

    def features(self, fields: Fields) -> list[Array]:
        """Return positions and velocities of cart and pole."""
        return [fields.qpos, fields.qvel]

    def draw_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Disturb the upright pose."""
        scale = self._reset_noise_scale
        qpos = self.init_qpos + rng.uniform(-scale, scale, self.model.nq)
        return qpos, self.init_qvel + rng.uniform(-scale, scale, self.model.nv)

    def outcome(self, fields: Fields, action: Any, before: Any) -> Outcome:
        """Push; every step upright earns 1."""
        upright = all_finite(fields) & (abs(fields.qpos[1]) <= 0.2)
        reward, info = self._earned(flag_as(int, upright))
        return reward, negated(upright), info

    def _earned(self, upright: Any) -> tuple[Any, dict[str, Any]]:
        return upright, {"reward_survive": upright}


class InvertedPendulumV4Env(InvertedPendulumEnv):
    """Version 4, whose last step earns 1, too."""

    def _earned(self, upright: Any) -> tuple[Any, dict[str, Any]]:
        return 1.0, {}


class InvertedDoublePendulumEnv(RobotEnv):
    """Keep the tip of two poles, one on top of the other, above 1 m."""

    reads = ("site_xpos", "qfrc_constraint")
    forces: ClassVar[int] = 1
    """How many constraint forces are seen."""

    def __init__(
        self,
        xml_file: str = "inverted_double_pendulum.xml",
        frame_skip: int = 5,
        default_camera_config: dict[str, Any] | None = None,
        healthy_reward: float = 10.0,
        reset_noise_scale: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            xml_file, frame_skip, default_camera_config=default_camera_config, **kwargs
        )
        self._healthy_reward = healthy_reward
        self._reset_noise_scale = reset_noise_scale
        self._ready()

    def features(self, fields: Fields) -> list[Array]:
        """Return the cart's position, sines and cosines, velocities and constraint forces."""
        angles = fields.qpos[1:]
        return [
            fields.qpos[:1],
            np.sin(angles),
            np.cos(angles),
            clip(fields.qvel, -10.0, 10.0),
            clip(fields.qfrc_constraint[: self.forces], -10.0, 10.0),
        ]

    def draw_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Disturb the upright pose."""
        scale = self._reset_noise_scale
        qpos = self.init_qpos + rng.uniform(-scale, scale, self.model.nq)
        return qpos, self.init_qvel + rng.standard_normal(self.model.nv) * scale

    def outcome(self, fields: Fields, action: Any, before: Any) -> Outcome:
        """Push; a step upright earns a bonus less the tip's distance and the poles' speed."""
        x, y = fields.site_xpos[0, 0], fields.site_xpos[0, 2]
        v1, v2 = fields.qvel[1], fields.qvel[2]
        fallen = y <= 1
        bonus = self._bonus(flag_as(int, negated(fallen)))
        distance = 0.01 * (x * x) + (y - 2) * (y - 2)
        speed = 1e-3 * (v1 * v1) + 5e-3 * (v2 * v2)
        return bonus - distance - speed, fallen, self._info(bonus, -distance, -speed)

    def _bonus(self, upright: Any) -> Any:
        return self._healthy_reward * upright

    def _info(self, bonus: Any, distance: Any, speed: Any) -> dict[str, Any]:
        return {
            "reward_survive": bonus,
            "distance_penalty": distance,
            "velocity_penalty": speed,
        }


class InvertedDoublePendulumV4Env(InvertedDoublePendulumEnv):
    """Version 4: all three constraint forces are seen, and the last step gets the bonus, too."""

    forces: ClassVar[int] = 3

    def __init__(self, default_camera_config: dict[str, Any] = _FAR, **kwargs: Any) -> None:
        super().__init__(default_camera_config=default_camera_config, **kwargs)

    def _bonus(self, upright: Any) -> Any:
        return self._healthy_reward

    def _info(self, bonus: Any, distance: Any, speed: Any) -> dict[str, Any]:
        return {}
