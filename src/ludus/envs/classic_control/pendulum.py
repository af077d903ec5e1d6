"""Pendulum: swing up and balance with a motor too weak to lift it at once."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.arguments import number
from ludus.envs.classic_control.arithmetic import clip, wrap_angle
from ludus.envs.classic_control.parameter import Parameter
from ludus.envs.classic_control.picture_env import PictureEnv
from ludus.envs.classic_control.utils import angle_normalize
from ludus.envs.reset_options import check_range, number_option
from ludus.envs.single_precision import is_float32, narrow
from ludus.kernel import Kernel
from ludus.kernel.env import StepResult
from ludus.kernel.math import sin, sincos
from ludus.kernel.random import uniform
from ludus.spaces import Box, Space

__all__ = ["KERNEL", "Params", "PendulumEnv", "State", "angle_normalize"]


class Params(NamedTuple):
    """Physical constants, limits, and where an episode starts."""

    g: float = 10.0
    m: float = 1.0
    length: float = 1.0
    dt: float = 0.05
    max_speed: float = 8.0
    max_torque: float = 2.0
    initial_theta: float = math.pi
    initial_theta_dot: float = 1.0


class State(NamedTuple):
    """Angle from upright, never wrapped, and angular velocity."""

    theta: float
    theta_dot: float


def initial(params: Params, rng: Any) -> State:
    """Draw angle and angular velocity uniformly."""
    theta = uniform(rng, -params.initial_theta, params.initial_theta)
    theta_dot = uniform(rng, -params.initial_theta_dot, params.initial_theta_dot)
    return State(theta, theta_dot)


def transition(params: Params, state: State, action: tuple[float], rng: Any) -> State:
    """Apply a torque for one step of semi-implicit Euler integration.

    What a torque in single precision contributes is in single precision, too.
    """
    torque = clip(action[0], -params.max_torque, params.max_torque)
    single = is_float32(torque)
    leverage = narrow(3.0 / (params.m * (params.length * params.length)), single)
    fall = 3.0 * params.g / (2.0 * params.length) * sin(state.theta)
    speed = state.theta_dot + (fall + narrow(leverage * torque, single)) * params.dt
    speed = clip(speed, -params.max_speed, params.max_speed)
    return State(state.theta + speed * params.dt, speed)


def observation(params: Params, state: State) -> tuple[float, float, float]:
    """Return cosine and sine of the angle, and the angular velocity."""
    sine, cosine = sincos(state.theta)
    return cosine, sine, state.theta_dot


def reward(params: Params, state: State, action: tuple[float], next_state: State) -> float:
    """Return minus the squared angle before the step, and a little for speed and torque."""
    torque = clip(action[0], -params.max_torque, params.max_torque)
    angle = wrap_angle(state.theta)
    single = is_float32(torque)
    effort = narrow(narrow(0.001, single) * narrow(torque * torque, single), single)
    return -(angle * angle + 0.1 * (state.theta_dot * state.theta_dot) + effort)


def terminal(params: Params, state: State) -> bool:
    """Return false: episodes do not terminate."""
    return False


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the observation and the action space."""
    high = np.array([1.0, 1.0, params.max_speed], dtype=np.float32)
    actions = Box(-params.max_torque, params.max_torque, (1,), np.float32)
    return Box(-high, high, dtype=np.float32), actions


KERNEL = Kernel(
    name="Pendulum",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
)


class PendulumEnv(PictureEnv):
    """Observations are cosine and sine of the angle and the speed; the action is a torque.

    The torque is clipped to [-2, 2]. The reward is at most 0, for resting upright. An episode has
    no end of its own. ``reset`` options ``x_init`` and ``y_init`` bound the uniform initial angle
    and speed, by default to half a turn and 1.

    Raises:
        TypeError: ``g`` is not a number.
        ValueError: ``g`` is NaN or a string, or a reset option is not a number or negative.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 30,
    }
    kernel = KERNEL
    observation_method = "_get_obs"
    screen_dim = screen_width = screen_height = 500

    g = Parameter(10.0)
    m = Parameter(1.0)
    l = Parameter(1.0, "length")  # noqa: E741 - Gymnasium's name
    dt = Parameter(0.05)
    max_speed = Parameter(8)
    max_torque = Parameter(2.0)

    def __init__(self, render_mode: str | None = None, g: float = 10.0) -> None:
        super().__init__(Params(g=number("g", g)), render_mode=render_mode)

    def reset_params(self, options: dict[str, Any] | None) -> Params:
        """Take the bounds of the first angle and speed from the options."""
        params: Params = self.params
        if options is None:
            return params
        theta = number_option(options, "x_init", math.pi)
        theta_dot = number_option(options, "y_init", 1.0)
        check_range(-theta, theta)
        check_range(-theta_dot, theta_dot)
        return params._replace(initial_theta=theta, initial_theta_dot=theta_dot)

    def step(self, action: Any) -> StepResult:
        """Advance by one torque; the reward is a NumPy scalar, as in Gymnasium."""
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, np.float64(reward), terminated, truncated, info

    def _get_obs(self) -> np.ndarray[Any, Any]:
        """Return the observation; override to return another one."""
        return self._observe()

    @property
    def last_u(self) -> float | None:
        """The torque of the last step, ``None`` after a reset."""
        if self.last_action is None:
            return None
        return clip(float(self.last_action[0]), -self.params.max_torque, self.params.max_torque)

    @last_u.setter
    def last_u(self, value: float | None) -> None:
        self.last_action = None if value is None else (float(value),)

    def draw(self, canvas: Any) -> None:
        """Draw the rod and the torque."""
        from ludus.envs.classic_control.pendulum_drawing import draw

        draw(canvas, self.named_state().theta, self.last_u, self.params.max_torque)
