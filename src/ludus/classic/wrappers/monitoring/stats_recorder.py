"""Lengths and returns of the episodes of a monitored environment."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ludus.classic.error import Error, ResetNeeded
from ludus.classic.wrappers.monitoring.atomic import write_json

__all__ = ["StatsRecorder"]


class StatsRecorder:
    """Counts steps and rewards, and refuses calls that would make the counts meaningless.

    Args:
        path: Where :meth:`flush` writes.
        env_id: Names the environment in messages.
        kind: ``"t"`` for training, ``"e"`` for evaluation; may be assigned between episodes.
    """

    def __init__(self, path: Path, env_id: str | None = None, kind: str = "t") -> None:
        self.path = path
        self.env_id = env_id
        self.type = kind
        self.initial_reset_timestamp: float | None = None
        self.timestamps: list[float] = []
        self.episode_lengths: list[int] = []
        self.episode_rewards: list[float] = []
        self.episode_types: list[str] = []
        self.total_steps = 0
        self.steps: int | None = None
        self.rewards = 0.0
        self.done: bool | None = None

    def before_step(self) -> None:
        """Check that a step may be taken.

        Raises:
            ResetNeeded: The episode is over, or none has begun.
        """
        if self.done:
            raise ResetNeeded(
                f"The episode of {self.env_id} is currently done: a monitored environment takes no "
                "steps after it. Call reset() to begin the next one."
            )
        if self.steps is None:
            raise ResetNeeded(
                f"step() before reset() of {self.env_id}: no episode has begun that the monitor "
                "could record. Call reset() first."
            )

    def after_step(self, reward: Any, done: bool) -> None:
        """Count a step."""
        self.steps = (self.steps or 0) + 1
        self.total_steps += 1
        self.rewards += float(reward)
        self.done = bool(done)
        if done:
            self.save_complete()

    def before_reset(self) -> None:
        """Check that a new episode may begin.

        Raises:
            Error: The current one has begun and is not over.
        """
        if self.done is False and self.steps:
            raise Error(
                f"The episode of {self.env_id} is not done after {self.steps} steps: a monitored "
                "environment is reset only between episodes. Step it to its end first."
            )
        if self.initial_reset_timestamp is None:
            self.initial_reset_timestamp = time.time()
        self.done = False

    def after_reset(self) -> None:
        """Begin to count an episode."""
        self.steps = 0
        self.rewards = 0.0
        # The type is entered now, so this list can be one longer than the others.
        self.episode_types.append(self.type)

    def save_complete(self) -> None:
        """Enter the finished episode."""
        self.episode_lengths.append(self.steps or 0)
        self.episode_rewards.append(self.rewards)
        self.timestamps.append(time.time())

    def flush(self) -> None:
        """Write what has been counted."""
        keys = (
            "initial_reset_timestamp",
            "timestamps",
            "episode_lengths",
            "episode_rewards",
            "episode_types",
        )
        write_json(self.path, {key: getattr(self, key) for key in keys})
