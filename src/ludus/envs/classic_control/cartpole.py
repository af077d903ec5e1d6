"""CartPole: a pole on a cart, to be kept upright (Barto, Sutton and Anderson, 1983)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus import logger
from ludus.envs.classic_control.cartpole_drawing import draw
from ludus.envs.reset_options import reset_bounds
from ludus.envs.screen import Screen, warn_no_render_mode
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.math import cos, sin
from ludus.kernel.random import uniform
from ludus.spaces import Box, Discrete, Space

__all__ = ["KERNEL", "CartPoleEnv", "Params", "State"]


class Params(NamedTuple):
    """Physical constants, in SI units, and what varies between tasks."""

    gravity: float = 9.8
    cart_mass: float = 1.0
    pole_mass: float = 0.1
    half_length: float = 0.5
    force: float = 10.0
    step_seconds: float = 0.02
    angle_limit: float = 12 * 2 * math.pi / 360
    position_limit: float = 2.4
    low: float = -0.05
    high: float = 0.05
    step_reward: float = 1.0
    fall_reward: float = 1.0
    late_reward: float = 0.0


class State(NamedTuple):
    """Position and velocity of the cart, angle and angular velocity of the pole."""

    x: float
    x_dot: float
    theta: float
    theta_dot: float


def initial(params: Params, rng: Any) -> State:
    """Draw all four numbers from a small interval around zero."""
    x = uniform(rng, params.low, params.high)
    x_dot = uniform(rng, params.low, params.high)
    theta = uniform(rng, params.low, params.high)
    theta_dot = uniform(rng, params.low, params.high)
    return State(x, x_dot, theta, theta_dot)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Push left (0) or right (1) for one step of explicit Euler integration."""
    # Divisions take longest of all here, so the constant one is made once for the whole batch.
    per_mass = 1.0 / (params.pole_mass + params.cart_mass)
    moment = params.pole_mass * params.half_length
    push = params.force if action == 1 else -params.force
    c, s = cos(state.theta), sin(state.theta)
    drive = (push + moment * (state.theta_dot * state.theta_dot) * s) * per_mass
    theta_acc = (params.gravity * s - c * drive) / (
        params.half_length * (4.0 / 3.0 - params.pole_mass * (c * c) * per_mass)
    )
    x_acc = drive - moment * theta_acc * c * per_mass
    return State(
        state.x + params.step_seconds * state.x_dot,
        state.x_dot + params.step_seconds * x_acc,
        state.theta + params.step_seconds * state.theta_dot,
        state.theta_dot + params.step_seconds * theta_acc,
    )


def observation(params: Params, state: State) -> tuple[float, float, float, float]:
    """Show position, velocity, angle and angular velocity."""
    return state.x, state.x_dot, state.theta, state.theta_dot


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Pay for every step, the one that ends the episode included, but for none after it."""
    ended = params.late_reward if terminal(params, state) else params.fall_reward
    return ended if terminal(params, next_state) else params.step_reward


def terminal(params: Params, state: State) -> bool:
    """Tell whether the cart left the track or the pole fell."""
    return (
        (state.x < -params.position_limit)
        | (state.x > params.position_limit)
        | (state.theta < -params.angle_limit)
        | (state.theta > params.angle_limit)
    )


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Observations reach twice the limits, so that the last one of an episode is inside."""
    high = np.array(
        [params.position_limit * 2, np.inf, params.angle_limit * 2, np.inf], dtype=np.float32
    )
    return Box(-high, high, dtype=np.float32), Discrete(2)


KERNEL = Kernel(
    name="CartPole",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
)


class CartPoleEnv(KernelEnv):
    """Observations are position, velocity, angle and angular velocity; actions 0 left, 1 right.

    Reward is 1 per step; with ``sutton_barto_reward`` 0 per step and -1 when the pole falls.
    ``reset`` options ``low`` and ``high`` bound the uniform initial state.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 50,
    }
    kernel = KERNEL

    def __init__(self, sutton_barto_reward: bool = False, render_mode: str | None = None) -> None:
        rewards = (0.0, -1.0, -1.0) if sutton_barto_reward else (1.0, 1.0, 0.0)
        step, fall, late = rewards
        super().__init__(
            Params(step_reward=step, fall_reward=fall, late_reward=late), render_mode=render_mode
        )
        self._screen: Screen | None = None
        self.steps_beyond_terminated: int | None = None

    def reset_params(self, options: dict[str, Any] | None) -> Params:
        """Take the bounds of the initial state from the options ``low`` and ``high``."""
        if options is None:
            return self.params  # type: ignore[no-any-return]
        low, high = reset_bounds(options, -0.05, 0.05)
        return self.params._replace(low=low, high=high)  # type: ignore[no-any-return]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Draw the four numbers of the state from a small interval around zero."""
        self.steps_beyond_terminated = None
        return super().reset(seed=seed, options=options)

    def _episode_ended(self) -> None:
        if self.steps_beyond_terminated is None:
            self.steps_beyond_terminated = 0
            return
        self.steps_beyond_terminated += 1
        if self.steps_beyond_terminated == 1:
            logger.warn(
                "You are calling 'step()' even though this environment has already returned "
                "terminated = True. Call 'reset()' first: steps beyond the end earn nothing."
            )

    def _save_state(self) -> dict[str, Any]:
        return {**super()._save_state(), "beyond": self.steps_beyond_terminated}

    def _load_state(self, fields: dict[str, Any]) -> None:
        super()._load_state(fields)
        self.steps_beyond_terminated = fields["beyond"]

    def render(self) -> np.ndarray[Any, Any] | None:
        """Return a 400 × 600 picture, or show it in a window."""
        if self.render_mode is None:
            warn_no_render_mode(self)
            return None
        if self._screen is None:
            self._screen = Screen(600, 400, self.render_mode, self.metadata["render_fps"])
        state = self.state
        if state is None:
            return None
        canvas = self._screen.canvas()
        draw(canvas, state.x, state.theta, self.params.position_limit)
        return self._screen.show(canvas)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None
