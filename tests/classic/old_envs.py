"""Environments as people wrote them for classic Gym."""

from __future__ import annotations

from typing import Any

import numpy as np

import ludus.classic as gym
from ludus.classic import spaces
from ludus.classic.utils import seeding


class Counter(gym.Env):
    """Counts steps; over after five; draws from a seeded generator."""

    metadata = {"render.modes": ["human", "rgb_array", "ansi"], "video.frames_per_second": 10}
    reward_range = (0.0, 5.0)

    def __init__(self, length: int = 5) -> None:
        self.observation_space = spaces.Box(0.0, 100.0, (2,), np.float32)
        self.action_space = spaces.Discrete(3)
        self.length = length
        self.count = 0
        self.closed = 0
        self.seed()

    def seed(self, seed: int | None = None) -> list[int]:
        self.np_random, used = seeding.np_random(seed)
        return [used]

    def _observation(self) -> Any:
        return np.array([self.count, self.np_random.rand()], dtype=np.float32)

    def reset(self) -> Any:
        self.count = 0
        return self._observation()

    def step(self, action: Any) -> Any:
        self.count += 1
        return self._observation(), float(action), self.count >= self.length, {"count": self.count}

    def render(self, mode: str = "human") -> Any:
        if mode == "ansi":
            return f"count {self.count}\n"
        if mode == "rgb_array":
            return np.full((8, 10, 3), self.count, dtype=np.uint8)
        return None

    def close(self) -> None:
        self.closed += 1


class Underscores(gym.Env):
    """The style of the first versions."""

    metadata = {"render.modes": ["ansi"]}

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(10)
        self.action_space = spaces.Discrete(2)
        self.calls: list[Any] = []
        self.state = 0

    def _step(self, action: Any) -> Any:
        self.state += int(action)
        return self.state, 1.0, self.state > 3, {}

    def _reset(self) -> Any:
        self.state = 0
        return self.state

    def _seed(self, seed: int | None = None) -> list[int]:
        self.calls.append(("seed", seed))
        return [seed or 0]

    def _render(self, mode: str = "human", close: bool = False) -> Any:
        self.calls.append((mode, close))
        return "shown\n" if not close else None

    def _close(self) -> None:
        self.calls.append("close")
