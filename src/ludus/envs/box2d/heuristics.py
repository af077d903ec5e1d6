"""Hand-made controllers: one that lands, one that walks."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np

__all__ = ["BipedalWalkerHeuristics", "demo_heuristic_lander", "heuristic"]

STEEPEST = 0.4
REPORT_EVERY = 20
# Of each leg in the walker's observation: hip, its speed, knee, its speed, ground contact.
LEGS = (slice(4, 9), slice(9, 14))


def heuristic(env: Any, s: Any) -> Any:
    """Return the action of a controller that lands in most cases.

    Args:
        env: The lander, which tells whether its actions are continuous.
        s: What was observed.
    """
    x, y, vx, vy, angle, turn, left, right = s
    if left or right:
        lean, lift = 0.0, -vy * 0.5
    else:
        # Lean towards the pad, and be the higher the farther away it is.
        wanted = min(max(x * 0.5 + vx * 1.0, -STEEPEST), STEEPEST)
        lean = (wanted - angle) * 0.5 - turn * 1.0
        lift = (0.55 * abs(x) - y) * 0.5 - vy * 0.5
    if env.unwrapped.continuous:
        return np.clip(np.array([lift * 20 - 1, -lean * 20]), -1, 1)
    if lift > abs(lean) and lift > 0.05:
        return 2
    return 3 if lean < -0.05 else 1 if lean > 0.05 else 0


def demo_heuristic_lander(env: Any, seed: int | None = None, render: bool = False) -> float:
    """Land with :func:`heuristic`, tell about it on standard output, and return what it earned."""
    seen, _ = env.reset(seed=seed)
    total, steps, over = 0.0, 0, False
    while not over:
        seen, reward, terminated, truncated, _ = env.step(heuristic(env, seen))
        total += reward
        over = terminated or truncated
        if render and env.render() is False:
            break
        if over or steps % REPORT_EVERY == 0:
            numbers = " ".join(f"{number:+0.2f}" for number in seen)
            sys.stdout.write(f"observations: {numbers}\nstep {steps} total_reward {total:+0.2f}\n")
        steps += 1
    if render:
        env.close()
    return total


class BipedalWalkerHeuristics:
    """A controller that walks: it swings one leg ahead, sets it down, and pushes off.

    It remembers what it is about, so each episode needs a new one.
    """

    STAY_ON_ONE_LEG, PUT_OTHER_DOWN, PUSH_OFF = 1, 2, 3
    SPEED: ClassVar[float] = 0.29
    SUPPORT_KNEE_ANGLE: ClassVar[float] = 0.1

    def __init__(self) -> None:
        self.state = self.STAY_ON_ONE_LEG
        self.moving_leg, self.supporting_leg = 0, 1
        self.supporting_knee_angle = self.SUPPORT_KNEE_ANGLE
        self.a = np.zeros(4)

    def step_heuristic(self, s: Any) -> Any:
        """Return the action for what was observed."""
        hips: list[float | None] = [None, None]
        knees: list[float | None] = [None, None]
        self._plan(s, hips, knees)
        numbers = []
        for leg, hip, knee in zip(LEGS, hips, knees, strict=True):
            hip_at, hip_speed, knee_at, knee_speed, _ = s[leg]
            # A target of exactly 0 is none: the original's rule.
            turn = 0.9 * (hip - hip_at) - 0.25 * hip_speed if hip else 0.0
            bend = 4.0 * (knee - knee_at) - 0.25 * knee_speed if knee else 0.0
            # Keep the hull upright, and damp its bouncing.
            numbers += [turn - (0.9 * (0 - s[0]) - 1.5 * s[1]), bend - 15.0 * s[3]]
        self.a = np.clip(0.5 * np.array(numbers, np.float64), -1.0, 1.0)
        return self.a

    def _plan(self, s: Any, hips: list[float | None], knees: list[float | None]) -> None:
        """Set the angles to turn to, and go on to the next phase when this one is done."""
        moving, supporting = self.moving_leg, self.supporting_leg
        ahead, behind = s[LEGS[moving]], s[LEGS[supporting]]
        if self.state == self.STAY_ON_ONE_LEG:
            hips[moving], knees[moving] = 1.1, -0.6
            faster = 0.06 if s[2] > self.SPEED else 0.03
            bent = self.supporting_knee_angle + faster
            self.supporting_knee_angle = min(bent, self.SUPPORT_KNEE_ANGLE)
            knees[supporting] = self.supporting_knee_angle
            if behind[0] < 0.10:
                self.state = self.PUT_OTHER_DOWN
        if self.state == self.PUT_OTHER_DOWN:
            hips[moving], knees[moving] = 0.1, self.SUPPORT_KNEE_ANGLE
            knees[supporting] = self.supporting_knee_angle
            if ahead[4]:
                self.state = self.PUSH_OFF
                self.supporting_knee_angle = min(ahead[2], self.SUPPORT_KNEE_ANGLE)
        if self.state == self.PUSH_OFF:
            knees[moving], knees[supporting] = self.supporting_knee_angle, 1.0
            if behind[2] > 0.88 or s[2] > 1.2 * self.SPEED:
                self.state = self.STAY_ON_ONE_LEG
                self.moving_leg, self.supporting_leg = supporting, moving
