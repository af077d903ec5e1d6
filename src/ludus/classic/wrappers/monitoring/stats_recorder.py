"""Statistics of the episodes of a monitored environment."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from ludus.atomic import write_whole
from ludus.classic.error import Error, ResetNeeded

__all__ = ["StatsRecorder", "write_json"]


class StatsRecorder:
    """Counts steps and rewards, and checks the order of calls.

    Args:
        path: File that :meth:`flush` writes.
        env_id: Id of the environment, for messages.
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
        """Check that a step is allowed.

        Raises:
            ResetNeeded: The episode is over, or none has begun.
        """
        if self.done:
            raise ResetNeeded(
                f"The episode of {self.env_id} is currently done: a monitored environment cannot "
                "be stepped after the end of an episode. Call reset() to start the next one."
            )
        if self.steps is None:
            raise ResetNeeded(
                f"step() was called before reset() of {self.env_id}, so there is no episode to "
                "record. Call reset() first."
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
        """Check that a reset is allowed.

        Raises:
            Error: The current episode is not finished.
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
        """Start counting an episode."""
        self.steps = 0
        self.rewards = 0.0
        # Appended at the start of the episode, so this list can be one longer than the others.
        self.episode_types.append(self.type)

    def save_complete(self) -> None:
        """Append the finished episode."""
        self.episode_lengths.append(self.steps or 0)
        self.episode_rewards.append(self.rewards)
        self.timestamps.append(time.time())

    def flush(self) -> None:
        """Write the statistics."""
        keys = (
            "initial_reset_timestamp",
            "timestamps",
            "episode_lengths",
            "episode_rewards",
            "episode_types",
        )
        write_json(self.path, {key: getattr(self, key) for key in keys})


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, replacing the file atomically."""
    write_whole(path, json.dumps(value, default=_plain).encode(), durable=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"A {type(value).__name__} cannot be written as JSON.")
