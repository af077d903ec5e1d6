"""Shared code of the MinAtar games: ten by ten cells, six actions, and actions that stick.

The rules are those of K. Young and T. Tian, "MinAtar: An Atari-Inspired Testbed for Thorough and
Reproducible Reinforcement Learning Experiments" (2019), in their version 1.0.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.arguments import probability
from ludus.envs.grid.minatar_drawing import CELL, draw, write
from ludus.envs.view import View
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.random import random
from ludus.spaces import Box, Discrete, Space

__all__ = [
    "DOWN",
    "FIRE",
    "LEFT",
    "RIGHT",
    "SIZE",
    "UP",
    "MinAtarEnv",
    "Params",
    "chosen",
    "clear",
    "game",
    "inside",
]

SIZE = 10
NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)


class Params(NamedTuple):
    """One variant of a game."""

    sticky: float
    """Probability that the previous action is repeated instead of the given one."""
    ramping: bool
    """Whether the game becomes harder."""
    channels: int
    actions: np.ndarray[Any, Any]
    """What each number of the action space does."""


def chosen(params: Params, before: int, action: int, rng: Any) -> int:
    """Return the action to take: the given one, or the previous one if that is sticky.

    Draws one random number at each step; the previous action carries over to the next episode.
    """
    if random(rng) < params.sticky:
        return before
    return int(params.actions[action])


def inside(x: int, y: int) -> bool:
    """Return whether a cell is on the grid."""
    return 0 <= x < SIZE and 0 <= y < SIZE


def clear(out: np.ndarray[Any, Any]) -> None:
    """Empty every cell of an observation."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for channel in range(out.shape[2]):
                out[y, x, channel] = False


def reward(params: Any, state: Any, action: Any, next_state: Any) -> float:
    """Return the reward of the step."""
    return next_state.reward  # type: ignore[no-any-return]


def terminal(params: Any, state: Any) -> bool:
    """Return whether the game is over."""
    return state.over  # type: ignore[no-any-return]


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the cells by row, column and channel, and the actions."""
    cells = Box(0.0, 1.0, shape=(SIZE, SIZE, params.channels), dtype=np.bool_)
    return cells, Discrete(len(params.actions))


def game(
    name: str,
    state: type,
    initial: Callable[..., Any],
    transition: Callable[..., Any],
    observation: Callable[..., None],
    valid: Callable[..., bool],
    arrays: dict[str, tuple[tuple[int, ...], Any]],
) -> Kernel:
    """Return the kernel of a game, whose state has the fields ``reward`` and ``over``."""

    def state_arrays(params: Any) -> dict[str, tuple[tuple[int, ...], Any]]:
        return arrays

    return Kernel(
        name=name,
        params=Params,
        state=state,
        initial=initial,
        transition=transition,
        observation=observation,
        reward=reward,
        terminal=terminal,
        spaces=spaces,
        state_arrays=state_arrays,
        valid=valid,
    )


class MinAtarEnv(KernelEnv):
    """An arcade game reduced to ten by ten cells.

    **Observations** are booleans by row, column and channel; ``channels`` names the channels.
    **Actions** are 0 nothing, 1 left, 2 up, 3 right, 4 down, 5 fire, or with the minimal action set
    those of them that do something in the game, in the same order. Each step repeats the action
    before with probability ``sticky_action_prob``, also across a reset. A game that is over stays
    as it is.

    Args:
        sticky_action_prob: Probability that an action sticks.
        difficulty_ramping: Let the game become harder; without effect in Breakout and Freeway.
        use_minimal_action_set: Offer only actions that do something.
        render_mode: ``"human"``, ``"rgb_array"``, ``"array"`` (the observation) or ``"ansi"``.

    Raises:
        ValueError: ``sticky_action_prob`` is not a probability.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array", "array", "ansi"],
        "render_fps": 20,
    }
    channels: ClassVar[dict[str, str]]
    """The names of the channels, and the character of each in ``"ansi"``."""
    minimal_actions: ClassVar[tuple[int, ...]]

    def __init__(
        self,
        sticky_action_prob: float = 0.1,
        difficulty_ramping: bool = True,
        use_minimal_action_set: bool = False,
        render_mode: str | None = None,
    ) -> None:
        actions = self.minimal_actions if use_minimal_action_set else range(6)
        self._view = View(SIZE * CELL, SIZE * CELL)
        super().__init__(
            Params(
                probability("sticky_action_prob", sticky_action_prob),
                bool(difficulty_ramping),
                len(self.channels),
                np.array(actions, dtype=np.int64),
            ),
            render_mode=render_mode,
        )

    def render(self) -> Any:
        """Return the game as a picture, an array or text, or show it in a window."""
        if self.render_mode == "array":
            return None if self.state is None else self._cells()
        return self._view.render(
            self,
            draw=lambda canvas: draw(canvas, self._cells()),
            text=lambda: write(self._cells(), "".join(self.channels.values())),
        )

    def _cells(self) -> np.ndarray[Any, Any]:
        cells = np.empty(self.observation_space.shape or (), dtype=np.bool_)
        self.kernel.observation(self.params, self.state, cells)
        return cells

    def close(self) -> None:
        """Close the window."""
        self._view.close()
        super().close()
