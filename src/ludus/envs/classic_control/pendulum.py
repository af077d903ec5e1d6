"""Pendulum: swing up and balance with a motor too weak to lift it at once."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.core.env import Env
from ludus.envs.classic_control.pendulum_drawing import draw
from ludus.envs.reset_options import number_option
from ludus.envs.screen import Screen, warn_no_render_mode
from ludus.errors import ResetNeeded
from ludus.spaces import Box

__all__ = ["Params", "PendulumEnv", "State"]


class Params(NamedTuple):
    """Physical constants and limits."""

    g: float = 10.0
    m: float = 1.0
    length: float = 1.0
    dt: float = 0.05
    max_speed: float = 8.0
    max_torque: float = 2.0


class State(NamedTuple):
    """Angle from upright and angular velocity."""

    theta: float
    theta_dot: float


def transition(p: Params, s: State, torque: float) -> State:
    """Apply a torque for one step of semi-implicit Euler integration."""
    acceleration = 3 * p.g / (2 * p.length) * math.sin(s.theta)
    acceleration += float(3.0 / (p.m * p.length * p.length) * torque)
    speed = s.theta_dot + acceleration * p.dt
    speed = min(max(speed, -p.max_speed), p.max_speed)
    return State(s.theta + speed * p.dt, speed)


def cost(s: State, torque: float) -> float:
    """Return the squared distance from resting upright, plus small costs of speed and torque."""
    angle = (s.theta + math.pi) % (2 * math.pi) - math.pi
    return angle * angle + 0.1 * (s.theta_dot * s.theta_dot) + float(0.001 * (torque * torque))


class PendulumEnv(Env[np.ndarray[Any, Any], np.ndarray[Any, Any]]):
    """Observations are cosine and sine of the angle and the speed; the action is a torque.

    The reward is minus :func:`cost`. ``reset`` options ``x_init`` and ``y_init`` bound the
    uniform initial angle and speed.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 30,
    }
    state_fields = ("_state", "last_u")

    def __init__(self, render_mode: str | None = None, g: float = 10.0) -> None:
        self.params = Params(g=g)
        self.render_mode = render_mode
        self._screen: Screen | None = None
        self._state: State | None = None
        self.last_u: float | None = None
        high = np.array([1.0, 1.0, self.params.max_speed], dtype=np.float32)
        limit = self.params.max_torque
        self.action_space = Box(-limit, limit, (1,), np.float32)
        self.observation_space = Box(-high, high, dtype=np.float32)

    @property
    def state(self) -> np.ndarray[Any, Any] | None:
        """The state in full precision, ``None`` before the first reset."""
        return None if self._state is None else np.array(self._state, dtype=np.float64)

    @state.setter
    def state(self, value: Any) -> None:
        self._state = None if value is None else State(*(float(number) for number in value))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        """Draw angle and speed uniformly, by default from all angles and slow speeds."""
        super().reset(seed=seed)
        high = np.array(
            [number_option(options, "x_init", math.pi), number_option(options, "y_init", 1.0)]
        )
        self.state = self.np_random.uniform(low=-high, high=high)
        self.last_u = None
        if self.render_mode == "human":
            self.render()
        return self._observation(), {}

    def step(
        self, action: np.ndarray[Any, Any]
    ) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        """Apply a torque, clipped to the motor's limit."""
        if self._state is None:
            raise ResetNeeded("Call reset before using step method.")
        # A NumPy scalar: what the torque adds is rounded as its own precision says.
        limit = self.params.max_torque
        torque = np.clip(action, -limit, limit)[0]
        reward = -cost(self._state, torque)
        self._state = transition(self.params, self._state, torque)
        self.last_u = float(torque)
        if self.render_mode == "human":
            self.render()
        return self._observation(), reward, False, False, {}

    def _observation(self) -> np.ndarray[Any, Any]:
        if self._state is None:
            raise ResetNeeded("Call reset before observing the pendulum.")
        theta, speed = self._state
        return np.array([math.cos(theta), math.sin(theta), speed], dtype=np.float32)

    def render(self) -> np.ndarray[Any, Any] | None:
        """Return a 500 × 500 picture, or show it in a window."""
        if self.render_mode is None:
            warn_no_render_mode(self)
            return None
        if self._screen is None:
            self._screen = Screen(500, 500, self.render_mode, self.metadata["render_fps"])
        if self._state is None:
            return None
        canvas = self._screen.canvas()
        draw(canvas, self._state.theta, self.last_u, self.params.max_torque)
        return self._screen.show(canvas)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None
