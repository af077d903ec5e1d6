"""Shared code of both mountain cars: the valley, where an episode starts, and the picture."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.arguments import number
from ludus.envs.classic_control.parameter import Parameter
from ludus.envs.classic_control.picture_env import PictureEnv
from ludus.envs.reset_options import with_reset_bounds
from ludus.kernel.random import uniform

__all__ = ["State", "ValleyEnv", "bounds", "initial", "observation"]


class State(NamedTuple):
    """Horizontal position, and velocity in positions per step."""

    position: float
    velocity: float


def initial(params: Any, rng: Any) -> State:
    """Draw a position near the bottom; the velocity is 0."""
    return State(uniform(rng, params.initial_low, params.initial_high), 0.0)


def observation(params: Any, state: State) -> tuple[float, float]:
    """Return the whole state."""
    return state.position, state.velocity


def bounds(params: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the lowest and highest observation."""
    low = np.array([params.min_position, -params.max_speed], dtype=np.float32)
    high = np.array([params.max_position, params.max_speed], dtype=np.float32)
    return low, high


class ValleyEnv(PictureEnv):
    """A car in a valley; subclasses define the kernel.

    Raises:
        TypeError: ``goal_velocity`` is not a number.
        ValueError: ``goal_velocity`` is NaN or a string; or a reset option is not a number, or the
            bounds are swapped.
        OverflowError: A reset option is infinite or NaN.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = ("_height",)

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 30,
    }
    screen_width, screen_height = 600, 400

    min_position = Parameter(-1.2)
    max_position = Parameter(0.6)
    max_speed = Parameter(0.07)
    goal_velocity = Parameter(0)

    def __init__(self, render_mode: str | None = None, goal_velocity: float = 0) -> None:
        params = self.kernel.params(goal_velocity=number("goal_velocity", goal_velocity))
        super().__init__(params, render_mode=render_mode)

    def reset_params(self, options: dict[str, Any] | None) -> Any:
        """Take the bounds of the first position from the options."""
        return with_reset_bounds(self.params, options)

    def _height(self, xs: Any) -> Any:
        """Return how high the track is at some positions."""
        return np.sin(3 * xs) * 0.45 + 0.55

    def draw(self, canvas: Any) -> None:
        """Draw the car in its valley."""
        from ludus.envs.classic_control.mountain_car_drawing import draw

        draw(canvas, self.named_state().position, self.params)
