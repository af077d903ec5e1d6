"""Robots that are paid for getting ahead, for staying healthy, and charged for effort."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.mujoco.arithmetic import (
    Array,
    Fields,
    clip,
    flag_as,
    length,
    negated,
    sum_of_squares,
)
from ludus.envs.mujoco.robot import Outcome, RobotEnv

__all__ = ["LocomotionEnv", "Stride"]


class Stride(NamedTuple):
    """Where one step led in which time, and what it earned."""

    start: tuple[Any, ...]
    place: tuple[Any, ...]
    dt: float
    velocity: Any
    forward: Any
    healthy: Any
    effort: Any
    impact: Any


_NOTHING = 0.0

# What an info can tell of a robot: from its fields, or from its last stride.
_TOLD: dict[str, Callable[[Any, Fields, Any], Any]] = {
    "x": lambda _, fields, __: fields.qpos[0],
    "y": lambda _, fields, __: fields.qpos[1],
    "distance": lambda _, fields, __: length(fields.qpos[0:2]),
    "rise": lambda env, fields, _: fields.qpos[env.upward] - env.init_qpos[env.upward],
    "tendon_length": lambda _, fields, __: fields.ten_length.copy(),
    "tendon_velocity": lambda _, fields, __: fields.ten_velocity.copy(),
    "place_x": lambda _, __, stride: stride.place[0],
    "place_y": lambda _, __, stride: stride.place[1],
    "place_distance": lambda _, __, stride: length(stride.place),
    "x_velocity": lambda _, __, stride: stride.velocity,
    "y_velocity": lambda _, __, stride: (stride.place[1] - stride.start[1]) / stride.dt,
    "forward": lambda _, __, stride: stride.forward,
    "healthy": lambda _, __, stride: stride.healthy,
    "effort": lambda _, __, stride: -stride.effort,
    "impact": lambda _, __, stride: -stride.impact,
}


class LocomotionEnv(RobotEnv):
    """The step that all walking, hopping, running and swimming robots share.

    What an info holds is a table from its keys to the quantities above: :attr:`step_infos` after
    a step, :attr:`reset_infos` after a reset.
    """

    step_infos: ClassVar[Mapping[str, str]] = {}
    reset_infos: ClassVar[Mapping[str, str]] = {}
    hidden: ClassVar[int] = 1
    """How many leading positions an observation leaves out."""
    upward: ClassVar[int] = 1
    """Which position is the height."""
    fastest: ClassVar[float | None] = None
    """Where observed velocities are clipped."""
    normal_velocities: ClassVar[bool] = False
    """Whether initial velocities are normal, not uniform."""
    pays_until_the_end: ClassVar[bool] = False
    """Whether the unhealthy last step of an episode earns the healthy reward, too."""

    _forward_reward_weight: float = 1.0
    _ctrl_cost_weight: float
    _healthy_reward: float = 0.0
    _terminate_when_unhealthy: bool = False
    _reset_noise_scale: float
    _parts: tuple[tuple[str, int], ...] = ()
    """What an observation holds after positions and velocities: a field, and its first row."""

    def _set_up(self, exclude_positions: bool) -> None:
        """Finish the construction: what an observation consists of, and how large that is."""
        self._skip = self.hidden * bool(exclude_positions)
        self._ready()
        names = ("qpos", "qvel", *(name for name, _ in self._parts))
        sizes = {
            name: part.size for name, part in zip(names, self.features(self._fields), strict=True)
        }
        self.observation_structure = {"skipped_qpos": self._skip, **sizes}

    def prepare(self, fields: Fields) -> None:
        """Keep the parts of an observation, as vectors, and how infos are made."""
        fields.told = [(key, _TOLD[name]) for key, name in self.step_infos.items()]
        fields.seen = [fields.qpos[self._skip :], fields.qvel]
        for name, start in self._parts:
            rows = getattr(fields, name)[start:]
            if getattr(self.data, name).ndim == 2:
                rows = rows.reshape(-1, *rows.shape[2:])
            fields.seen.append(rows)

    def place(self, fields: Fields) -> tuple[Any, ...]:
        """Return copies of the coordinates that the velocity is measured on."""
        # A plus sign copies an array, and costs a number nothing.
        return (+fields.qpos[0],)

    def healthy(self, fields: Fields) -> Any:
        """Tell whether the robot is in a state that it can go on from."""
        return True

    def impact(self, fields: Fields) -> Any:
        """Return what the contact forces cost."""
        return _NOTHING

    def effort(self, fields: Fields, action: Any) -> Any:
        """Return what an action costs."""
        return self._ctrl_cost_weight * sum_of_squares(action)

    @property
    def is_healthy(self) -> Any:
        """Whether the present state is healthy."""
        return self.healthy(self._fields)

    @property
    def healthy_reward(self) -> Any:
        """What the present state earns."""
        return self._pay(self.is_healthy)

    @property
    def contact_cost(self) -> Any:
        """What the present contact forces cost."""
        return self.impact(self._fields)

    def control_cost(self, action: Any) -> Any:
        """Return what an action costs."""
        return self.effort(self._fields, action)

    def _pay(self, healthy: Any) -> Any:
        if self.pays_until_the_end:
            healthy = 1.0 if self._terminate_when_unhealthy else flag_as(float, healthy)
        return healthy * self._healthy_reward

    def features(self, fields: Fields) -> list[Array]:
        """Return positions, velocities and what else the robot feels."""
        if self.fastest is None:
            seen: list[Array] = fields.seen
            return seen
        place, speed, *rest = fields.seen
        return [place, clip(speed, -self.fastest, self.fastest), *rest]

    def before(self, fields: Fields, action: Any) -> tuple[Any, ...]:
        """Return the place that the velocity counts from."""
        return self.place(fields)

    def outcome(self, fields: Fields, action: Any, before: tuple[Any, ...]) -> Outcome:
        """Count what a step earned."""
        after, dt = self.place(fields), self.dt
        velocity = (after[0] - before[0]) / dt
        healthy = self.healthy(fields)
        stride = Stride(
            before,
            after,
            dt,
            velocity,
            self._forward_reward_weight * velocity,
            self._pay(healthy),
            self.effort(fields, action),
            self.impact(fields),
        )
        # Adding nothing to a number of single precision is slower than it looks.
        costs = stride.effort if stride.impact is _NOTHING else stride.effort + stride.impact
        reward = stride.forward + stride.healthy - costs
        ended = negated(healthy) if self._terminate_when_unhealthy else False
        return reward, ended, {key: tell(self, fields, stride) for key, tell in fields.told}

    def draw_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Disturb the first pose a little."""
        scale = self._reset_noise_scale
        qpos = self.init_qpos + rng.uniform(-scale, scale, self.model.nq)
        if self.normal_velocities:
            return qpos, self.init_qvel + scale * rng.standard_normal(self.model.nv)
        return qpos, self.init_qvel + rng.uniform(-scale, scale, self.model.nv)

    def reset_info(self, fields: Fields) -> dict[str, Any]:
        """Return where the robot is."""
        return {key: _TOLD[name](self, fields, None) for key, name in self.reset_infos.items()}
