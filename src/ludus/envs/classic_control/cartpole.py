"""CartPole: a pole on a cart, to be kept upright (Barto, Sutton and Anderson, 1983)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus import logger
from ludus.core.env import Env
from ludus.envs.classic_control.cartpole_drawing import draw
from ludus.envs.reset_options import reset_bounds
from ludus.envs.screen import Screen, warn_no_render_mode
from ludus.errors import InvalidAction, ResetNeeded
from ludus.spaces import Box, Discrete

__all__ = ["CartPoleEnv", "Params", "State"]


class Params(NamedTuple):
    """Physical constants, in SI units."""

    gravity: float = 9.8
    cart_mass: float = 1.0
    pole_mass: float = 0.1
    half_length: float = 0.5
    force: float = 10.0
    step_seconds: float = 0.02
    angle_limit: float = 12 * 2 * math.pi / 360
    position_limit: float = 2.4


class State(NamedTuple):
    """Position and velocity of the cart, angle and angular velocity of the pole."""

    x: float
    x_dot: float
    theta: float
    theta_dot: float


def transition(p: Params, s: State, action: int) -> State:
    """Push left (0) or right (1) for one step of explicit Euler integration."""
    total_mass = p.pole_mass + p.cart_mass
    moment = p.pole_mass * p.half_length
    push = p.force if action == 1 else -p.force
    cos, sin = math.cos(s.theta), math.sin(s.theta)
    drive = (push + moment * (s.theta_dot * s.theta_dot) * sin) / total_mass
    theta_acc = (p.gravity * sin - cos * drive) / (
        p.half_length * (4.0 / 3.0 - p.pole_mass * (cos * cos) / total_mass)
    )
    x_acc = drive - moment * theta_acc * cos / total_mass
    return State(
        s.x + p.step_seconds * s.x_dot,
        s.x_dot + p.step_seconds * x_acc,
        s.theta + p.step_seconds * s.theta_dot,
        s.theta_dot + p.step_seconds * theta_acc,
    )


def terminal(p: Params, s: State) -> bool:
    """Tell whether the cart left the track or the pole fell."""
    return abs(s.x) > p.position_limit or abs(s.theta) > p.angle_limit


class CartPoleEnv(Env[np.ndarray[Any, Any], int]):
    """Observations are :class:`State` as float32, actions 0 (left) and 1 (right).

    Reward is 1 per step; with ``sutton_barto_reward`` 0 per step and -1 when the pole falls.
    ``reset`` options ``low`` and ``high`` bound the uniform initial state.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 50,
    }
    state_fields = ("_state", "steps_beyond_terminated")

    def __init__(self, sutton_barto_reward: bool = False, render_mode: str | None = None) -> None:
        self.params = Params()
        self._sutton_barto_reward = sutton_barto_reward
        self.render_mode = render_mode
        self._screen: Screen | None = None
        self._state: State | None = None
        self.steps_beyond_terminated: int | None = None
        high = np.array(
            [self.params.position_limit * 2, np.inf, self.params.angle_limit * 2, np.inf],
            dtype=np.float32,
        )
        self.action_space = Discrete(2)  # type: ignore[assignment]
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
        """Draw the four numbers of the state from a small interval around zero."""
        super().reset(seed=seed)
        low, high = reset_bounds(options, -0.05, 0.05)
        self.state = self.np_random.uniform(low=low, high=high, size=(4,))
        self.steps_beyond_terminated = None
        if self.render_mode == "human":
            self.render()
        return np.array(self._state, dtype=np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        """Push the cart for one step."""
        if not self.action_space.contains(action):
            raise InvalidAction(f"{action!r} ({type(action)}) invalid: expected 0 or 1.")
        if self._state is None:
            raise ResetNeeded("Call reset before using step method.")
        self._state = transition(self.params, self._state, action)
        terminated = terminal(self.params, self._state)
        reward = self._reward(terminated)
        if self.render_mode == "human":
            self.render()
        return np.array(self._state, dtype=np.float32), reward, terminated, False, {}

    def _reward(self, terminated: bool) -> float:
        if not terminated:
            return 0.0 if self._sutton_barto_reward else 1.0
        if self.steps_beyond_terminated is None:
            self.steps_beyond_terminated = 0
            return -1.0 if self._sutton_barto_reward else 1.0
        if self.steps_beyond_terminated == 0:
            logger.warn(
                "You are calling 'step()' even though this environment has already returned "
                "terminated = True. Call 'reset()' first: steps beyond the end earn nothing."
            )
        self.steps_beyond_terminated += 1
        return -1.0 if self._sutton_barto_reward else 0.0

    def render(self) -> np.ndarray[Any, Any] | None:
        """Return a 400 × 600 picture, or show it in a window."""
        if self.render_mode is None:
            warn_no_render_mode(self)
            return None
        if self._screen is None:
            self._screen = Screen(600, 400, self.render_mode, self.metadata["render_fps"])
        if self._state is None:
            return None
        canvas = self._screen.canvas()
        draw(canvas, self._state.x, self._state.theta, self.params.position_limit)
        return self._screen.show(canvas)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            self._screen.close()
            self._screen = None
