"""``tabular/Blackjack``: the book's rules, observations in one array."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np

from ludus.envs.toy_text import blackjack
from ludus.envs.toy_text.blackjack import BlackjackEnv, Params, State
from ludus.experimental.jax_functional import JaxKernelFuncEnv
from ludus.spaces import Box, Discrete, Space

__all__ = ["KERNEL", "BlackJackJaxEnv", "BlackjackFunctional", "Params", "State"]


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the observation and the action space."""
    return Box(np.array([1, 1, 0]), np.array([32, 11, 1]), (3,), np.int32), Discrete(2)


KERNEL = dataclasses.replace(blackjack.KERNEL, name="tabular Blackjack", spaces=spaces)


class BlackjackFunctional(JaxKernelFuncEnv):
    """Blackjack as functions of a state."""

    kernel = KERNEL
    in_jax = "ludus.envs.tabular.in_jax:BlackjackInJax"

    def get_default_params(self, **kwargs: Any) -> Params:
        """Return the book's rules, the given ones replaced."""
        return Params(natural=False, sab=True, deals_faces=False)._replace(**kwargs)


class BlackJackJaxEnv(BlackjackEnv):
    """Blackjack-v1 with the observation in one array of int32.

    The array has the player's total, the dealer's open card, and whether an ace counts 11. The name
    is Gymnasium's; observations are NumPy arrays.

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
    deals_faces: ClassVar[bool] = False

    def __init__(
        self, render_mode: str | None = None, options: dict[str, Any] | None = None
    ) -> None:
        self.func_env = BlackjackFunctional(options)
        super().__init__(render_mode=render_mode, sab=True)
