"""Small environments for tests.

They can be pickled and built in worker processes, and their state can be saved. All except
:class:`FaultyEnv` pass the environment checks.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Literal

import numpy as np

from ludus.core.env import Env
from ludus.errors import UnsupportedMode
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

__all__ = ["CounterEnv", "DictEnv", "FaultyEnv", "ImageEnv", "SlowEnv"]

Info = dict[str, Any]
Fault = Literal["raise", "exit", "kill", "hang"]


class CounterEnv(Env[np.int64, np.int64]):
    """Counts to ``goal``: action 1 adds 1 and has reward 1, action 0 does nothing.

    The initial count is random. Reaching the goal terminates, ``limit`` steps truncate.
    """

    state_fields = ("count", "steps")

    def __init__(self, goal: int = 10, limit: int = 25) -> None:
        self.goal = goal
        self.limit = limit
        self.observation_space = Discrete(goal + 1)
        self.action_space = Discrete(2)
        self.count = 0
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, Info]:
        """Start from a random count, or from ``options["count"]``."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(self.goal // 2 + 1))
        self.count = int((options or {}).get("count", drawn))
        self.steps = 0
        return np.int64(self.count), {"steps": 0}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, Info]:
        """Add the action to the count."""
        self.count += int(action)
        self.steps += 1
        terminated = self.count >= self.goal
        truncated = not terminated and self.steps >= self.limit
        return np.int64(self.count), float(action), terminated, truncated, {"steps": self.steps}


class DictEnv(Env[dict[str, Any], dict[str, Any]]):
    """A noisy walk with nested observations and actions, and infos of different types.

    Episodes end at random after about ``mean_length`` steps. The info has a number, an array, a
    string and a dict, and an additional entry in every third step.
    """

    state_fields = ("position", "switches", "steps")

    def __init__(self, mean_length: int = 10) -> None:
        self.mean_length = mean_length
        self.observation_space = Dict(
            {
                "position": Box(-10.0, 10.0, (2,), np.float32),
                "switches": MultiBinary(3),
                "clock": Tuple((Discrete(12), Box(0, 255, (2, 2), np.uint8))),
            }
        )
        self.action_space = Dict(
            {"move": Box(-1.0, 1.0, (2,), np.float32), "press": MultiDiscrete([4, 2])}
        )
        self.position = np.zeros(2, np.float32)
        self.switches = np.zeros(3, np.int8)
        self.steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], Info]:
        """Start at a random position with all switches off."""
        super().reset(seed=seed)
        self.position = self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)
        self.switches = np.zeros(3, np.int8)
        self.steps = 0
        return self._observation(), self._info()

    def step(self, action: dict[str, Any]) -> tuple[dict[str, Any], float, bool, bool, Info]:
        """Move with noise and flip the pressed switch; the reward is minus the distance."""
        noise = self.np_random.normal(0.0, 0.1, 2)
        moved = self.position + np.asarray(action["move"]) + noise
        self.position = np.clip(moved, -10.0, 10.0).astype(np.float32)
        button, pressed = (int(part) for part in action["press"])
        if pressed and button < 3:
            self.switches[button] ^= 1
        self.steps += 1
        reward = -float(np.hypot(*self.position))
        terminated = bool(self.np_random.random() < 0.75 / self.mean_length)
        truncated = bool(self.np_random.random() < 0.25 / self.mean_length)
        return self._observation(), reward, terminated, truncated, self._info()

    def _observation(self) -> dict[str, Any]:
        face = np.full((2, 2), self.steps % 256, np.uint8)
        return {
            "position": self.position.copy(),
            "switches": self.switches.copy(),
            "clock": (np.int64(self.steps % 12), face),
        }

    def _info(self) -> Info:
        info: Info = {
            "steps": self.steps,
            "start": self.position.copy(),
            "label": f"step {self.steps}",
            "nested": {"on": int(self.switches.sum())},
        }
        if self.steps % 3 == 2:
            info["third"] = float(self.steps)
        return info


class ImageEnv(Env[np.ndarray[Any, Any], np.int64]):
    """A bright square on a dark image that has to be moved to the right edge.

    Actions are right, up, left, down. Renders ``rgb_array`` (the observation) and ``ansi``.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 30}  # noqa: RUF012
    state_fields = ("row", "column")

    def __init__(self, height: int = 16, width: int = 20, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UnsupportedMode(
                f"ImageEnv renders {self.metadata['render_modes']}, not {render_mode!r}."
            )
        self.render_mode = render_mode
        self.height = height
        self.width = width
        self.observation_space = Box(0, 255, (height, width, 3), np.uint8)
        self.action_space = Discrete(4)
        self.row = 0
        self.column = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], Info]:
        """Start in a random row of the left half."""
        super().reset(seed=seed)
        self.row = int(self.np_random.integers(self.height))
        self.column = int(self.np_random.integers(self.width // 2))
        return self._picture(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray[Any, Any], float, bool, bool, Info]:
        """Move the square by one; walls stop it."""
        d_row, d_column = ((0, 1), (-1, 0), (0, -1), (1, 0))[int(action)]
        self.row = min(max(self.row + d_row, 0), self.height - 1)
        self.column = min(max(self.column + d_column, 0), self.width - 1)
        arrived = self.column == self.width - 1
        return self._picture(), float(arrived), arrived, False, {}

    def render(self) -> np.ndarray[Any, Any] | str | None:
        """Return the image, or a text; ``None`` without a render mode."""
        if self.render_mode == "ansi":
            return f"square at {self.row}, {self.column}\n"
        return self._picture() if self.render_mode == "rgb_array" else None

    def _picture(self) -> np.ndarray[Any, Any]:
        picture = np.full((self.height, self.width, 3), 20, np.uint8)
        picture[self.row, self.column] = 255
        return picture


class SlowEnv(CounterEnv):
    """A :class:`CounterEnv` whose steps take ``seconds`` each."""

    def __init__(self, seconds: float = 0.1, goal: int = 10, limit: int = 25) -> None:
        super().__init__(goal, limit)
        self.seconds = seconds

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, Info]:
        """Sleep, then count."""
        time.sleep(self.seconds)
        return super().step(action)


class FaultyEnv(CounterEnv):
    """A :class:`CounterEnv` that fails at step ``at_step`` of an episode, 0 being ``reset``.

    Args:
        fault: ``raise`` a RuntimeError, ``exit`` the process with status 3, ``kill`` it with
            SIGKILL, or ``hang`` forever.
        at_step: Step of the fault.
        goal: As in :class:`CounterEnv`.
        limit: As in :class:`CounterEnv`.

    Raises:
        ValueError: ``fault`` is invalid.
    """

    def __init__(
        self, fault: Fault = "raise", at_step: int = 3, goal: int = 10, limit: int = 25
    ) -> None:
        if fault not in ("raise", "exit", "kill", "hang"):
            raise ValueError(f"fault is {fault!r}; expected raise, exit, kill or hang.")
        super().__init__(goal, limit)
        self.fault = fault
        self.at_step = at_step

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, Info]:
        """Reset, or fail if ``at_step`` is 0."""
        result = super().reset(seed=seed, options=options)
        self._fail_if_due()
        return result

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, Info]:
        """Count, or fail."""
        result = super().step(action)
        self._fail_if_due()
        return result

    def _fail_if_due(self) -> None:
        if self.steps != self.at_step:
            return
        if self.fault == "raise":
            raise RuntimeError(f"FaultyEnv fails at step {self.at_step}, as configured")
        if self.fault == "exit":
            os._exit(3)
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            time.sleep(3600)
