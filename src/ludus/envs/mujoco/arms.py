"""Arms that reach for a target or push a thing to a goal."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from ludus.envs.mujoco.arithmetic import Array, Fields, length, sum_of_squares
from ludus.envs.mujoco.robot import Outcome, RobotEnv

__all__ = ["PusherEnv", "ReacherEnv", "ReacherV4Env", "pusher_v4"]


class ReacherEnv(RobotEnv):
    """Bring the tip of an arm with two joints to a target in the plane."""

    reads = ("xpos",)
    axes: ClassVar[int] = 2
    """In how many dimensions the gap between tip and target is seen."""

    def __init__(
        self,
        xml_file: str = "reacher.xml",
        frame_skip: int = 2,
        default_camera_config: dict[str, Any] | None = None,
        reward_dist_weight: float = 1,
        reward_control_weight: float = 1,
        **kwargs: Any,
    ) -> None:
        camera = {"trackbodyid": 0} if default_camera_config is None else default_camera_config
        super().__init__(xml_file, frame_skip, default_camera_config=camera, **kwargs)
        self._reward_dist_weight = reward_dist_weight
        self._reward_control_weight = reward_control_weight
        self._tip, self._target = (self.model.body(n).id for n in ("fingertip", "target"))
        self._ready()

    def _gap(self, fields: Fields) -> Array:
        gap: Array = fields.xpos[self._tip] - fields.xpos[self._target]
        return gap

    def features(self, fields: Fields) -> list[Array]:
        """Return the joints' cosines and sines, the target, speeds, and tip minus target."""
        angles, gap = fields.qpos[:2], self._gap(fields)[: self.axes]
        return [np.cos(angles), np.sin(angles), fields.qpos[2:], fields.qvel[:2], gap]

    def draw_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Disturb the arm, and put the target anywhere within reach."""
        qpos = rng.uniform(-0.1, 0.1, self.model.nq) + self.init_qpos
        while True:
            self.goal = rng.uniform(-0.2, 0.2, 2)
            if np.linalg.norm(self.goal) < 0.2:
                break
        qpos[-2:] = self.goal
        qvel = self.init_qvel + rng.uniform(-0.005, 0.005, self.model.nv)
        qvel[-2:] = 0
        return qpos, qvel

    def _rewards(self, fields: Fields, action: Any) -> dict[str, Any]:
        return {
            "reward_dist": -length(self._gap(fields)) * self._reward_dist_weight,
            "reward_ctrl": -sum_of_squares(action) * self._reward_control_weight,
        }

    def outcome(self, fields: Fields, action: Any, before: Any) -> Outcome:
        """Charge distance and effort."""
        info = self._rewards(fields, action)
        return info["reward_dist"] + info["reward_ctrl"], False, info


class ReacherV4Env(ReacherEnv):
    """Version 4: the distance before the step counts, and the gap is seen in three dimensions."""

    axes: ClassVar[int] = 3

    def before(self, fields: Fields, action: Any) -> dict[str, Any]:
        """Return the rewards, which count where the tip was."""
        return self._rewards(fields, action)

    def outcome(self, fields: Fields, action: Any, before: dict[str, Any]) -> Outcome:
        """Charge the distance before the step, and effort."""
        return before["reward_dist"] + before["reward_ctrl"], False, before


_TABLE_CAMERA: dict[str, Any] = {"trackbodyid": -1, "distance": 4.0}


class PusherEnv(RobotEnv):
    """Push a cylinder to a goal with an arm of seven joints."""

    reads = ("xpos",)

    def __init__(
        self,
        xml_file: str = "pusher_v5.xml",
        frame_skip: int = 5,
        default_camera_config: dict[str, Any] = _TABLE_CAMERA,
        reward_near_weight: float = 0.5,
        reward_dist_weight: float = 1,
        reward_control_weight: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            xml_file, frame_skip, default_camera_config=default_camera_config, **kwargs
        )
        self._reward_near_weight = reward_near_weight
        self._reward_dist_weight = reward_dist_weight
        self._reward_control_weight = reward_control_weight
        self._bodies = [self.model.body(name).id for name in ("tips_arm", "object", "goal")]
        self._ready()

    def features(self, fields: Fields) -> list[Array]:
        """Return the arm's joints and speeds, and where tip, cylinder and goal are."""
        places = (fields.xpos[body] for body in self._bodies)
        return [fields.qpos[:7], fields.qvel[:7], *places]

    def draw_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Put the cylinder somewhere not too near the goal."""
        self.goal_pos = np.zeros(2)
        while True:
            x, y = rng.uniform(-0.3, 0), rng.uniform(-0.2, 0.2)
            self.cylinder_pos = np.array([x, y])
            if np.linalg.norm(self.cylinder_pos - self.goal_pos) > 0.17:
                break
        qpos = self.init_qpos.copy()
        qpos[-4:-2], qpos[-2:] = self.cylinder_pos, self.goal_pos
        qvel = self.init_qvel + rng.uniform(-0.005, 0.005, self.model.nv)
        qvel[-4:] = 0
        return qpos, qvel

    def outcome(self, fields: Fields, action: Any, before: Any) -> Outcome:
        """Charge the ways from arm to cylinder and from cylinder to goal, and effort."""
        tip, thing, goal = (fields.xpos[body] for body in self._bodies)
        info = {
            "reward_dist": -length(thing - goal) * self._reward_dist_weight,
            "reward_ctrl": -sum_of_squares(action) * self._reward_control_weight,
            "reward_near": -length(thing - tip) * self._reward_near_weight,
        }
        return info["reward_dist"] + info["reward_ctrl"] + info["reward_near"], False, info


def pusher_v4(**kwargs: Any) -> NoReturn:
    """Explain why there is no version 4.

    Raises:
        ImportError: Always.
    """
    raise ImportError(
        "Pusher-v4 is only supported on mujoco<3, whose contacts its model depends on; "
        "use Pusher-v5."
    )
