"""CartPole: a pole on a cart, to be kept upright (Barto, Sutton and Anderson, 1983)."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus import logger
from ludus.envs.classic_control.parameter import KernelParameter, Parameter
from ludus.envs.classic_control.picture_env import PictureEnv
from ludus.envs.reset_options import with_reset_bounds
from ludus.kernel import Kernel
from ludus.kernel.env import StepResult
from ludus.kernel.math import cos, sin
from ludus.kernel.random import uniform
from ludus.spaces import Box, Discrete, Space

__all__ = ["KERNEL", "SEMI_IMPLICIT_KERNEL", "CartPoleEnv", "Params", "State"]

ANGLE_LIMIT = 12 * 2 * math.pi / 360


class Params(NamedTuple):
    """Physical constants in SI units, and settings of the task."""

    gravity: float = 9.8
    cart_mass: float = 1.0
    pole_mass: float = 0.1
    total_mass: float = 0.1 + 1.0
    half_length: float = 0.5
    pole_moment: float = 0.1 * 0.5
    force: float = 10.0
    step_seconds: float = 0.02
    semi_implicit: bool = False
    angle_limit: float = ANGLE_LIMIT
    position_limit: float = 2.4
    initial_low: float = -0.05
    initial_high: float = 0.05
    step_reward: float = 1.0
    fall_reward: float = 1.0


class State(NamedTuple):
    """Position and velocity of the cart, angle and angular velocity of the pole."""

    x: float
    x_dot: float
    theta: float
    theta_dot: float


def initial(params: Params, rng: Any) -> State:
    """Draw all four numbers from a small interval around zero."""
    x = uniform(rng, params.initial_low, params.initial_high)
    x_dot = uniform(rng, params.initial_low, params.initial_high)
    theta = uniform(rng, params.initial_low, params.initial_high)
    theta_dot = uniform(rng, params.initial_low, params.initial_high)
    return State(x, x_dot, theta, theta_dot)


def accelerations(params: Params, state: State, action: int) -> tuple[float, float]:
    """Return the accelerations of cart and pole when pushed left (0) or right (1)."""
    # Divisions are slow, so the constant one is computed once for the whole batch.
    per_mass = 1.0 / params.total_mass
    moment = params.pole_moment
    push = params.force if action == 1 else -params.force
    c, s = cos(state.theta), sin(state.theta)
    drive = (push + moment * (state.theta_dot * state.theta_dot) * s) * per_mass
    theta_acc = (params.gravity * s - c * drive) / (
        params.half_length * (4.0 / 3.0 - params.pole_mass * (c * c) * per_mass)
    )
    return drive - moment * theta_acc * c * per_mass, theta_acc


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Push for one step of explicit Euler integration."""
    x_acc, theta_acc = accelerations(params, state, action)
    return State(
        state.x + params.step_seconds * state.x_dot,
        state.x_dot + params.step_seconds * x_acc,
        state.theta + params.step_seconds * state.theta_dot,
        state.theta_dot + params.step_seconds * theta_acc,
    )


def semi_implicit_transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Push for one step of semi-implicit Euler integration: positions use the new velocities."""
    x_acc, theta_acc = accelerations(params, state, action)
    x_dot = state.x_dot + params.step_seconds * x_acc
    theta_dot = state.theta_dot + params.step_seconds * theta_acc
    return State(
        state.x + params.step_seconds * x_dot,
        x_dot,
        state.theta + params.step_seconds * theta_dot,
        theta_dot,
    )


def observation(params: Params, state: State) -> tuple[float, float, float, float]:
    """Return position, velocity, angle and angular velocity."""
    return state.x, state.x_dot, state.theta, state.theta_dot


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return 1 for every step, also the one that ends the episode."""
    return params.fall_reward if terminal(params, next_state) else params.step_reward


def terminal(params: Params, state: State) -> bool:
    """Return whether the cart left the track or the pole fell."""
    return (
        (state.x < -params.position_limit)
        | (state.x > params.position_limit)
        | (state.theta < -params.angle_limit)
        | (state.theta > params.angle_limit)
    )


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces; observations reach twice the limits, to include an episode's last one."""
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


# A separate kernel, because a condition at each step would slow down the common case.
SEMI_IMPLICIT_KERNEL = dataclasses.replace(
    KERNEL, name="semi-implicit CartPole", transition=semi_implicit_transition
)


class _Integrator(KernelParameter):
    """``"euler"`` or ``"semi-implicit euler"``."""

    def pack(self, value: Any) -> dict[str, Any]:
        if value not in ("euler", "semi-implicit euler"):
            raise ValueError(
                f"{self.name}={value!r} is unknown; use 'euler' or 'semi-implicit euler'."
            )
        return {self.field: value != "euler"}

    def unpack(self, params: Params) -> str:
        return "semi-implicit euler" if params.semi_implicit else "euler"


class _Rewards(Parameter):
    """Whether the reward is 0 per step and -1 for a fall, instead of 1 per step."""

    @staticmethod
    def of(sutton_barto_reward: bool) -> dict[str, Any]:
        step, fall = (0.0, -1.0) if sutton_barto_reward else (1.0, 1.0)
        return {"step_reward": step, "fall_reward": fall}

    def pack(self, value: Any) -> dict[str, Any]:
        return self.of(bool(value))

    def unpack(self, params: Params) -> bool:
        return params.step_reward == 0.0


class CartPoleEnv(PictureEnv):
    """Observations are position, velocity, angle and angular velocity; actions 0 left, 1 right.

    Reward is 1 per step; with ``sutton_barto_reward`` 0 per step and -1 when the pole falls.
    ``reset`` options ``low`` and ``high`` bound the uniform initial state.

    The constants are attributes that can be set. ``total_mass`` and ``polemass_length`` are
    independent of the others: after changing a mass or the length, set them too.

    Raises:
        ValueError: A reset option is not a number, or the bounds are swapped.
        OverflowError: A reset option is infinite or NaN.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 50,
    }
    screen_width, screen_height = 600, 400

    gravity = Parameter(9.8)
    masscart = Parameter(1.0, "cart_mass")
    masspole = Parameter(0.1, "pole_mass")
    total_mass = Parameter(0.1 + 1.0)
    length = Parameter(0.5, "half_length")
    polemass_length = Parameter(0.1 * 0.5, "pole_moment")
    force_mag = Parameter(10.0, "force")
    tau = Parameter(0.02, "step_seconds")
    theta_threshold_radians = Parameter(ANGLE_LIMIT, "angle_limit")
    x_threshold = Parameter(2.4, "position_limit")
    kinematics_integrator = _Integrator("euler", "semi_implicit")
    _sutton_barto_reward = _Rewards(False)

    def __init__(self, sutton_barto_reward: bool = False, render_mode: str | None = None) -> None:
        rewards = _Rewards.of(sutton_barto_reward)
        super().__init__(Params(**rewards), render_mode=render_mode)
        self.steps_beyond_terminated: int | None = None

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """The kernel of the chosen integrator."""
        return SEMI_IMPLICIT_KERNEL if self.params.semi_implicit else KERNEL

    def reset_params(self, options: dict[str, Any] | None) -> Params:
        """Take the bounds of the initial state from the options ``low`` and ``high``."""
        params: Params = with_reset_bounds(self.params, options)
        return params

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Draw the four numbers of the state from a small interval around zero."""
        self.steps_beyond_terminated = None
        return super().reset(seed=seed, options=options)

    def _at_end(self, result: StepResult) -> StepResult:
        if self.steps_beyond_terminated is None:
            self.steps_beyond_terminated = 0
            return result
        self.steps_beyond_terminated += 1
        if self.steps_beyond_terminated == 1:
            logger.warn(
                "step() was called although the environment has already returned terminated = "
                "True. Call reset() first: steps beyond the end earn nothing."
            )
        observation, _, terminated, truncated, info = result
        return observation, min(self.params.fall_reward, 0.0), terminated, truncated, info

    def _save_state(self) -> dict[str, Any]:
        return {**super()._save_state(), "beyond": self.steps_beyond_terminated}

    def _load_state(self, fields: dict[str, Any]) -> None:
        super()._load_state(fields)
        self.steps_beyond_terminated = fields["beyond"]

    @classmethod
    def vector_class(cls) -> type[Any]:
        """Return the class of batches, a subclass of ``CartPoleVectorEnv``."""
        from ludus.envs.classic_control.array_state_vector import batch_class
        from ludus.envs.classic_control.cartpole_vector import CartPoleBatch

        own: Any = cls
        return batch_class(CartPoleBatch, own)

    def draw(self, canvas: Any) -> None:
        """Draw the cart and its pole."""
        from ludus.envs.classic_control.cartpole_drawing import draw

        state = self.named_state()
        draw(canvas, state.x, state.theta, self.params.position_limit)


def __getattr__(name: str) -> Any:
    # Gymnasium has it here; it imports this module.
    if name == "CartPoleVectorEnv":
        from ludus.envs.classic_control.cartpole_vector import CartPoleVectorEnv

        return CartPoleVectorEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
