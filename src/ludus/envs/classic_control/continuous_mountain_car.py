"""MountainCarContinuous: the car's motor takes any force, and force costs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludus.envs.classic_control.arithmetic import clip
from ludus.envs.classic_control.parameter import Parameter
from ludus.envs.classic_control.valley import State, ValleyEnv, bounds, initial, observation
from ludus.envs.single_precision import is_float32, narrow, round_to_float32
from ludus.kernel import Kernel
from ludus.kernel.math import cos
from ludus.spaces import Box, Space

__all__ = ["KERNEL", "Continuous_MountainCarEnv", "Params", "State"]

GRAVITY = 0.0025


class Params(NamedTuple):
    """The valley, the car, the goal, and where an episode starts."""

    min_action: float = -1.0
    max_action: float = 1.0
    min_position: float = -1.2
    max_position: float = 0.6
    max_speed: float = 0.07
    goal_position: float = 0.45
    goal_velocity: float = 0.0
    power: float = 0.0015
    initial_low: float = -0.6
    initial_high: float = -0.4


def transition(params: Params, state: State, action: tuple[float], rng: Any) -> State:
    """Push with a force from -1 to 1; the wall on the left stops the car.

    Only an episode's first state is in double precision; every later one is rounded to float32.
    A state in single precision is advanced in single precision, unless the force is in double. A
    clipped force counts as neither: it is the bound itself, rounded only when added to the state.
    """
    single = is_float32(state.position) & is_float32(state.velocity)
    slope = GRAVITY * cos(narrow(3.0 * state.position, single))
    force = clip(action[0], params.min_action, params.max_action)
    given = force == action[0]
    brief = given & is_float32(force)
    drive = narrow(force * narrow(params.power, brief), brief)
    push = narrow(drive - narrow(slope, brief), brief)
    single = single & (brief | (not given))
    max_speed = narrow(params.max_speed, single)
    velocity = narrow(state.velocity + narrow(push, single), single)
    velocity = clip(velocity, -max_speed, max_speed)
    min_position = narrow(params.min_position, single)
    position = narrow(state.position + velocity, single)
    position = clip(position, min_position, narrow(params.max_position, single))
    stopped = (position == min_position) & (velocity < 0.0)
    return State(round_to_float32(position), 0.0 if stopped else round_to_float32(velocity))


def reward(params: Params, state: State, action: tuple[float], next_state: State) -> float:
    """Return 100 at the flag, minus a tenth of the square of the unclipped action."""
    prize = 100.0 if terminal(params, next_state) else 0.0
    return prize - action[0] * action[0] * 0.1


def terminal(params: Params, state: State) -> bool:
    """Return whether the car is at the flag, fast enough."""
    arrived = state.position >= round_to_float32(params.goal_position)
    return arrived & (state.velocity >= round_to_float32(params.goal_velocity))


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the observation and the action space."""
    actions = Box(params.min_action, params.max_action, (1,), np.float32)
    return Box(*bounds(params), dtype=np.float32), actions


KERNEL = Kernel(
    name="MountainCarContinuous",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
)


class Continuous_MountainCarEnv(ValleyEnv):  # noqa: N801 - Gymnasium's name
    """Observations are :class:`State` as float32; the action is a force, clipped to [-1, 1].

    Each step costs a tenth of the action's square, and reaching the flag at 0.45 with at least
    ``goal_velocity`` pays 100 and ends the episode. It starts at rest between -0.6 and -0.4;
    ``reset`` options ``low`` and ``high`` replace these bounds. Bad numbers raise as
    :class:`ValleyEnv` says.
    """

    kernel = KERNEL
    later_dtype = np.float32

    min_action = Parameter(-1.0)
    max_action = Parameter(1.0)
    goal_position = Parameter(0.45)
    power = Parameter(0.0015)

    def __init__(self, render_mode: str | None = None, goal_velocity: float = 0) -> None:
        super().__init__(render_mode, goal_velocity)
        self.low_state, self.high_state = bounds(self.params)
