"""``tabular/CliffWalking``: the cell and the direction as arrays of one number."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from ludus.envs.toy_text import tabular
from ludus.envs.toy_text.cliffwalking import COLS, ROWS, START, CliffWalkingEnv, table_of
from ludus.envs.toy_text.tabular import Params, State, tabulate
from ludus.experimental.jax_functional import JaxKernelFuncEnv
from ludus.spaces import Box, Space

__all__ = ["KERNEL", "CliffWalkingFunctional", "CliffWalkingJaxEnv", "Params", "State"]


def observation(params: Params, state: State) -> tuple[int]:
    """Return the number of the cell."""
    return (state.s,)


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the observation and the action space."""
    cells = Box(0, params.states - 1, (1,), np.int32)
    return cells, Box(0, params.actions - 1, (1,), np.int32)


KERNEL = dataclasses.replace(
    tabular.KERNEL, name="tabular CliffWalking", observation=observation, spaces=spaces, info=None
)


class CliffWalkingFunctional(JaxKernelFuncEnv):
    """Cliff Walking as functions of a state."""

    kernel = KERNEL
    in_jax = "ludus.envs.tabular.in_jax:CliffWalkingInJax"

    def get_default_params(self, **kwargs: Any) -> Params:
        """Return the table of the cliff, the given params replaced."""
        starts = np.zeros(ROWS * COLS)
        starts[START] = 1.0
        return tabulate(table_of(is_slippery=False), starts)._replace(**kwargs)


class CliffWalkingJaxEnv(CliffWalkingEnv):
    """CliffWalking-v1 with cell and direction as arrays of shape (1,) and int32, and no infos.

    The name is Gymnasium's; observations are NumPy arrays.

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

    def __init__(
        self, render_mode: str | None = None, options: dict[str, Any] | None = None
    ) -> None:
        self.func_env = CliffWalkingFunctional(options)
        super().__init__(render_mode=render_mode)

    def _pays_ints(self) -> bool:
        return False

    @property
    def lastaction(self) -> int | None:
        """The last direction, ``None`` after a reset."""
        return None if self.last_action is None else int(self.last_action[0])

    @lastaction.setter
    def lastaction(self, value: int | None) -> None:
        self.last_action = None if value is None else (value,)
