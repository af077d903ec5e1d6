"""An environment that plays back what a test has written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ludus.core import Env
from ludus.spaces import Box, Discrete, Space


class ScriptEnv(Env[Any, Any]):
    """Returns the observations in order, ends the episode with the last one, notes the actions.

    Frames are images whose pixels all equal the step's number.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": ["rgb_array", "ansi", "human"],
        "render_fps": 50,
    }
    state_fields = ("position",)

    def __init__(
        self,
        observations: Sequence[Any] = tuple(np.float32([i]) for i in range(6)),
        rewards: Sequence[float] | None = None,
        space: Space[Any] | None = None,
        action_space: Space[Any] | None = None,
        render_mode: str | None = None,
        endless: bool = False,
    ) -> None:
        self.observations = observations
        self.rewards = [1.0] * (len(observations) - 1) if rewards is None else rewards
        self.observation_space = Box(-100, 100, (1,), np.float32) if space is None else space
        self.action_space = Discrete(3) if action_space is None else action_space
        self.render_mode = render_mode
        self.endless = endless
        self.position = 0
        self.actions: list[Any] = []
        self.closed = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.position = 0
        return self.observations[0], {"options": options}

    def step(self, action: Any) -> Any:
        self.actions.append(action)
        last = len(self.observations) - 1
        reward = self.rewards[self.position]
        self.position = (self.position + 1) % last if self.endless else self.position + 1
        ended = self.position == last and not self.endless
        return self.observations[self.position], reward, ended, False, {"position": self.position}

    def render(self) -> Any:
        if self.render_mode == "ansi":
            return f"<{self.position}>"
        return np.full((4, 6, 3), self.position, np.uint8)

    def close(self) -> None:
        self.closed += 1
