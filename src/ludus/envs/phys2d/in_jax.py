"""CartPole and Pendulum as functions of arrays in JAX, on the params of their kernels."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ludus.envs.classic_control import cartpole, pendulum
from ludus.experimental.functional import FuncEnv

__all__ = ["CartPoleInJax", "PendulumInJax"]


class _OnParams(FuncEnv):
    """Functions with default params."""

    def __init__(self, params: Any) -> None:
        super().__init__()
        self.default_params = params

    def _params(self, params: Any) -> Any:
        return self.default_params if params is None else params


class CartPoleInJax(_OnParams):
    """CartPole; a state holds position and velocity of the cart, angle and speed of the pole."""

    def initial(self, rng: Any, params: cartpole.Params | None = None) -> Any:
        """Draw all four numbers uniformly."""
        params = self._params(params)
        low, high = params.initial_low, params.initial_high
        return jax.random.uniform(rng, (4,), minval=low, maxval=high)

    def transition(
        self, state: Any, action: Any, rng: Any = None, params: cartpole.Params | None = None
    ) -> Any:
        """Push the cart for one step of explicit Euler integration."""
        params = self._params(params)
        x, speed, angle, spin = state
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        force = jnp.sign(action - 0.5) * params.force
        pull = (force + params.pole_moment * spin**2 * sine) / params.total_mass
        inertia = 4.0 / 3.0 - params.pole_mass * cosine**2 / params.total_mass
        turn = (params.gravity * sine - cosine * pull) / (params.half_length * inertia)
        push = pull - params.pole_moment * turn * cosine / params.total_mass
        step = params.step_seconds
        following = (x + step * speed, speed + step * push, angle + step * spin, spin + step * turn)
        return jnp.array(following, jnp.float32)

    def observation(
        self, state: Any, rng: Any = None, params: cartpole.Params | None = None
    ) -> Any:
        """Return the state."""
        return state

    def terminal(self, state: Any, rng: Any = None, params: cartpole.Params | None = None) -> Any:
        """Return whether the cart or the pole is beyond its limit."""
        params = self._params(params)
        x, _, angle, _ = state
        return (jnp.abs(x) > params.position_limit) | (jnp.abs(angle) > params.angle_limit)

    def reward(
        self,
        state: Any,
        action: Any,
        next_state: Any,
        rng: Any = None,
        params: cartpole.Params | None = None,
    ) -> Any:
        """Return 1 for every step."""
        params = self._params(params)
        fallen = self.terminal(state, rng, params)
        paid = jnp.where(fallen, params.fall_reward, params.step_reward)
        return paid.astype(jnp.float32)


class PendulumInJax(_OnParams):
    """Pendulum; a state holds the angle from upright and the angular velocity."""

    def initial(self, rng: Any, params: pendulum.Params | None = None) -> Any:
        """Draw both numbers uniformly."""
        params = self._params(params)
        high = jnp.array([params.initial_theta, params.initial_theta_dot])
        return jax.random.uniform(rng, (2,), minval=-high, maxval=high)

    def transition(
        self, state: Any, action: Any, rng: Any = None, params: pendulum.Params | None = None
    ) -> Any:
        """Apply a torque for one step of semi-implicit Euler integration."""
        params = self._params(params)
        angle, speed = state
        fall = 3 * params.g / (2 * params.length) * jnp.sin(angle)
        leverage = 3.0 / (params.m * params.length**2)
        speed = speed + (fall + leverage * _torque(params, action)) * params.dt
        speed = jnp.clip(speed, -params.max_speed, params.max_speed)
        return jnp.array([angle + speed * params.dt, speed])

    def observation(
        self, state: Any, rng: Any = None, params: pendulum.Params | None = None
    ) -> Any:
        """Return cosine and sine of the angle, and the angular velocity."""
        angle, speed = state
        return jnp.array([jnp.cos(angle), jnp.sin(angle), speed])

    def reward(
        self,
        state: Any,
        action: Any,
        next_state: Any,
        rng: Any = None,
        params: pendulum.Params | None = None,
    ) -> Any:
        """Return minus the squared angle, and a little for speed and torque."""
        angle, speed = state
        angle = (angle + jnp.pi) % (2 * jnp.pi) - jnp.pi
        torque = _torque(self._params(params), action)
        return -(angle**2 + 0.1 * speed**2 + 0.001 * torque**2)

    def terminal(self, state: Any, rng: Any = None, params: pendulum.Params | None = None) -> Any:
        """Return false: episodes do not terminate."""
        return jnp.zeros((), jnp.bool_)


def _torque(params: pendulum.Params, action: Any) -> Any:
    return jnp.clip(jnp.asarray(action), -params.max_torque, params.max_torque)[0]
