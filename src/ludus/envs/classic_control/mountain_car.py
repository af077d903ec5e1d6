"""MountainCar: a car too weak for the hill has to rock itself up (Moore, 1990)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.envs.classic_control.arithmetic import clip
from ludus.envs.classic_control.parameter import Parameter
from ludus.envs.classic_control.valley import State, ValleyEnv, bounds, initial, observation
from ludus.kernel import Kernel
from ludus.kernel.math import cos
from ludus.spaces import Box, Discrete, Space

__all__ = ["KERNEL", "MountainCarEnv", "Params", "State"]


class Params(NamedTuple):
    """The valley, the car, the goal, and where an episode starts."""

    min_position: float = -1.2
    max_position: float = 0.6
    max_speed: float = 0.07
    goal_position: float = 0.5
    goal_velocity: float = 0.0
    force: float = 0.001
    gravity: float = 0.0025
    initial_low: float = -0.6
    initial_high: float = -0.4


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Push left (0), not at all (1) or right (2); the wall on the left stops the car."""
    push = (action - 1) * params.force + cos(3.0 * state.position) * -params.gravity
    velocity = clip(state.velocity + push, -params.max_speed, params.max_speed)
    position = clip(state.position + velocity, params.min_position, params.max_position)
    stopped = (position == params.min_position) & (velocity < 0.0)
    return State(position, 0.0 if stopped else velocity)


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return -1 for every step."""
    return -1.0


def terminal(params: Params, state: State) -> bool:
    """Return whether the car is at the flag, fast enough."""
    return (state.position >= params.goal_position) & (state.velocity >= params.goal_velocity)


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the observation and the action space."""
    return Box(*bounds(params), dtype=np.float32), Discrete(3)


KERNEL = Kernel(
    name="MountainCar",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
)


class MountainCarEnv(ValleyEnv):
    """Observations are :class:`State` as float32, actions 0 (left), 1 (coast) and 2 (right).

    Each step costs 1. The episode ends at the flag at 0.5, if the car arrives there with at least
    ``goal_velocity``. It starts at rest between -0.6 and -0.4; ``reset`` options ``low`` and
    ``high`` replace these bounds. Bad numbers raise as :class:`ValleyEnv` says.
    """

    kernel = KERNEL

    goal_position = Parameter(0.5)
    force = Parameter(0.001)
    gravity = Parameter(0.0025)

    def __init__(self, render_mode: str | None = None, goal_velocity: float = 0) -> None:
        super().__init__(render_mode, goal_velocity)
        self.low, self.high = bounds(self.params)

    def get_keys_to_action(self) -> dict[tuple[int, ...], int]:
        """Return the actions of the arrow keys, by the codes of pygame 1."""
        left, right = 276, 275
        return {(): 1, (left,): 0, (right,): 2, (right, left): 1}
