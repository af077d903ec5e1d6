"""Controllers for the classic problems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = [
    "AcrobotAgent",
    "CartPoleAgent",
    "MountainCarAgent",
    "MountainCarContinuousAgent",
    "PendulumAgent",
]


class CartPoleAgent:
    """Pushes to where the pole falls, and a little towards the middle of the track."""

    def __init__(self, env: Any) -> None:
        self._as_array = env.action_space.shape == (1,)

    def act(self, observation: Any) -> Any:
        """Return the push."""
        x, speed, angle, turning = (float(number) for number in observation)
        return int(0.05 * x + 0.2 * speed + 2.0 * angle + 1.0 * turning > 0)


class MountainCarAgent:
    """Pushes the way the car moves, which adds energy in every swing."""

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> int:
        """Return the push."""
        return 2 if observation[1] >= 0 else 0


class MountainCarContinuousAgent:
    """Pushes the way the car moves, no harder than it takes."""

    FORCE = 0.7

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> Any:
        """Return the force."""
        return np.array([self.FORCE if observation[1] >= 0 else -self.FORCE], np.float32)


class PendulumAgent:
    """Pumps energy until the pendulum can be caught, then holds it upright."""

    GRAVITY, STRENGTH = 10.0, 2.0

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> Any:
        """Return the torque."""
        cosine, sine, speed = (float(number) for number in observation)
        angle = math.atan2(sine, cosine)
        if cosine > 0.85 and abs(speed) < 4.0:
            torque = -12.0 * angle - 3.0 * speed
        else:
            # Of a rod of length and mass 1: at rest upright it is zero.
            energy = speed * speed / 6.0 + self.GRAVITY / 2.0 * (cosine - 1.0)
            torque = -math.copysign(self.STRENGTH, energy * (speed or 1.0))
        limited = min(max(torque, -self.STRENGTH), self.STRENGTH)
        return np.array([limited], np.float32)


class AcrobotAgent:
    """Turns the joint the way it is turning, which swings both links up."""

    def __init__(self, env: Any) -> None:
        pass

    def act(self, observation: Any) -> int:
        """Return the torque."""
        return 2 if observation[5] > 0 else 0
