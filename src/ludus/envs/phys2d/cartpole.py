"""``phys2d/CartPole``: a cart and a pole with Gymnasium's functional constants."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from ludus.core.vector_env import AutoresetMode
from ludus.envs.classic_control import cartpole
from ludus.envs.classic_control.cartpole import Params, State
from ludus.envs.classic_control.cartpole_drawing import draw
from ludus.envs.classic_control.picture_env import PictureEnv
from ludus.envs.functional_jax_env import FunctionalJaxVectorEnv
from ludus.experimental.jax_functional import JaxKernelFuncEnv
from ludus.spaces import Box, Discrete, Space

__all__ = [
    "KERNEL",
    "CartPoleFunctional",
    "CartPoleJaxEnv",
    "CartPoleJaxVectorEnv",
    "Params",
    "State",
]

# Gymnasium adds the pole's mass and half its length here where CartPole-v1 multiplies them, and
# pays for steps beyond the end, too.
PARAMS = Params(pole_moment=0.1 + 0.5)


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return spaces without bounds on the observation."""
    return Box(-np.inf, np.inf, (4,), np.float32), Discrete(2)


KERNEL = dataclasses.replace(cartpole.KERNEL, name="phys2d CartPole", spaces=spaces)


class CartPoleFunctional(JaxKernelFuncEnv):
    """CartPole as functions of a state."""

    kernel = KERNEL
    in_jax = "ludus.envs.phys2d.in_jax:CartPoleInJax"

    def get_default_params(self, **kwargs: Any) -> Params:
        """Return the params of ``phys2d/CartPole``, the given ones replaced."""
        return PARAMS._replace(**kwargs)


class CartPoleJaxEnv(PictureEnv):
    """CartPole with a pole whose moment is 0.6 instead of 0.05.

    Observations are position, velocity, angle and angular velocity, in a space without bounds;
    actions 0 left, 1 right. Every step pays 1. The name is Gymnasium's; observations are NumPy
    arrays, and initial states are drawn as in ``CartPole-v1``.

    Args:
        render_mode: ``rgb_array``.
        options: Set as attributes of :attr:`func_env`.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "jax": False,
    }
    kernel = KERNEL
    screen_width, screen_height = 600, 400

    def __init__(
        self, render_mode: str | None = None, options: dict[str, Any] | None = None
    ) -> None:
        self.func_env = CartPoleFunctional(options)
        super().__init__(self.func_env.default_params, render_mode=render_mode)

    def draw(self, canvas: Any) -> None:
        """Draw the cart and its pole."""
        state = self.named_state()
        draw(canvas, state.x, state.theta, self.params.position_limit)


class CartPoleJaxVectorEnv(FunctionalJaxVectorEnv[Any, Any, Any]):
    """Many of these environments in JAX: keys, arrays and the order of draws are Gymnasium's.

    ``make_vec("phys2d/CartPole-v1")`` builds a compiled batch instead, which needs no JAX.

    Args:
        num_envs: How many.
        render_mode: Not supported; use ``make_vec`` for rendering.
        max_episode_steps: After how many steps episodes are truncated; 0 for never.
        **kwargs: ``options``, set as attributes of the functions.

    Raises:
        DependencyNotInstalled: JAX is not installed.
    """

    def __init__(
        self,
        num_envs: int,
        render_mode: str | None = None,
        max_episode_steps: int = 200,
        **kwargs: Any,
    ) -> None:
        metadata = {
            **CartPoleJaxEnv.metadata,
            "autoreset_mode": AutoresetMode.NEXT_STEP,
            "jax": True,
        }
        super().__init__(
            CartPoleFunctional(**kwargs), num_envs, max_episode_steps, metadata, render_mode
        )
