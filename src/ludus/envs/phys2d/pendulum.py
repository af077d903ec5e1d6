"""``phys2d/Pendulum``: a pendulum with Gymnasium's functional spaces."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from ludus.core.vector_env import AutoresetMode
from ludus.envs.classic_control import pendulum
from ludus.envs.classic_control.arithmetic import clip
from ludus.envs.classic_control.pendulum import Params, State
from ludus.envs.classic_control.pendulum_drawing import draw
from ludus.envs.classic_control.picture_env import PictureEnv
from ludus.envs.functional_jax_env import FunctionalJaxVectorEnv
from ludus.experimental.jax_functional import JaxKernelFuncEnv
from ludus.spaces import Box, Space

__all__ = [
    "KERNEL",
    "Params",
    "PendulumFunctional",
    "PendulumJaxEnv",
    "PendulumJaxVectorEnv",
    "State",
]


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return spaces without bounds on the observation; torques always reach from -2 to 2."""
    return Box(-np.inf, np.inf, (3,), np.float32), Box(-2.0, 2.0, (1,), np.float32)


KERNEL = dataclasses.replace(pendulum.KERNEL, name="phys2d Pendulum", spaces=spaces)


class PendulumFunctional(JaxKernelFuncEnv):
    """Pendulum as functions of a state.

    The option ``max_torque`` bounds the torque that is applied.
    """

    kernel = KERNEL
    in_jax = "ludus.envs.phys2d.in_jax:PendulumInJax"
    max_torque: float = 2.0

    def get_default_params(self, **kwargs: Any) -> Params:
        """Return the params of ``phys2d/Pendulum``, the given ones replaced."""
        return Params(**{"max_torque": float(self.max_torque), **kwargs})


class PendulumJaxEnv(PictureEnv):
    """Pendulum-v1 with a space without bounds for its observations.

    Observations are cosine and sine of the angle, and the speed; the action is a torque. The name
    is Gymnasium's; observations are NumPy arrays, and initial states are drawn as in
    ``Pendulum-v1``.

    Args:
        render_mode: ``rgb_array``.
        options: Set as attributes of :attr:`func_env`; ``max_torque`` bounds the torque.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["rgb_array"],
        "render_fps": 30,
        "jax": False,
    }
    kernel = KERNEL
    screen_width = screen_height = 500

    def __init__(
        self, render_mode: str | None = None, options: dict[str, Any] | None = None
    ) -> None:
        self.func_env = PendulumFunctional(options)
        super().__init__(self.func_env.default_params, render_mode=render_mode)

    def draw(self, canvas: Any) -> None:
        """Draw the rod and the torque."""
        bound, action = self.params.max_torque, self.last_action
        torque = None if action is None else clip(float(action[0]), -bound, bound)
        draw(canvas, self.named_state().theta, torque, bound)


class PendulumJaxVectorEnv(FunctionalJaxVectorEnv[Any, Any, Any]):
    """Many of these environments in JAX: keys, arrays and the order of draws are Gymnasium's.

    ``make_vec("phys2d/Pendulum-v0")`` builds a compiled batch instead, which needs no JAX.

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
            **PendulumJaxEnv.metadata,
            "autoreset_mode": AutoresetMode.NEXT_STEP,
            "jax": True,
        }
        super().__init__(
            PendulumFunctional(**kwargs), num_envs, max_episode_steps, metadata, render_mode
        )
