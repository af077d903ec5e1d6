"""Records return, length and duration of every episode."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, SupportsFloat

from ludus.core import ActType, Env, ObsType, RecordConstructorArgs, State, Wrapper
from ludus.wrappers.saved_fields import SavesObjects, take_fields

__all__ = ["RecordEpisodeStatistics"]


class RecordEpisodeStatistics(
    SavesObjects, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Add ``{"r": return, "l": length, "t": seconds}`` to the info of an episode's last step.

    The last ``buffer_length`` of each are kept in ``return_queue``, ``length_queue`` and
    ``time_queue``; ``episode_count`` counts the finished episodes.

    Example:
        >>> env = RecordEpisodeStatistics(ludus.make("CartPole-v1", max_episode_steps=5))
        >>> _ = env.reset(seed=0)
        >>> for _ in range(5):
        ...     *_, info = env.step(0)
        >>> info["episode"]["l"], env.length_queue
        (5, deque([5], maxlen=100))
    """

    state_fields = ("episode_count", "episode_returns", "episode_lengths")
    saved_objects = ("return_queue", "length_queue", "time_queue")

    def __init__(
        self, env: Env[ObsType, ActType], buffer_length: int = 100, stats_key: str = "episode"
    ) -> None:
        RecordConstructorArgs.__init__(self, buffer_length=buffer_length, stats_key=stats_key)
        super().__init__(env)
        self._stats_key = stats_key
        self.episode_count = 0
        self.episode_start_time: float = -1
        self.episode_returns: Any = 0.0
        self.episode_lengths = 0
        self.time_queue: deque[float] = deque(maxlen=buffer_length)
        self.return_queue: deque[Any] = deque(maxlen=buffer_length)
        self.length_queue: deque[int] = deque(maxlen=buffer_length)

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step; at the end of an episode, add its statistics to the info.

        Raises:
            ValueError: The info already has the key for the statistics.
        """
        result = self.env.step(action)
        _, reward, terminated, truncated, info = result
        self.episode_returns += reward
        self.episode_lengths += 1
        if terminated or truncated:
            self._finish_episode(info)
        return result

    def _finish_episode(self, info: dict[str, Any]) -> None:
        if self._stats_key in info:
            raise ValueError(
                f"The info already has the key {self._stats_key!r}: {info[self._stats_key]}. Is "
                "the environment wrapped twice? Choose another `stats_key`."
            )
        now = time.perf_counter()
        seconds = round(now - self.episode_start_time, 6)
        info[self._stats_key] = {
            "r": self.episode_returns,
            "l": self.episode_lengths,
            "t": seconds,
        }
        self.time_queue.append(seconds)
        self.return_queue.append(self.episode_returns)
        self.length_queue.append(self.episode_lengths)
        self.episode_count += 1
        self.episode_start_time = now

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset, and start the statistics of a new episode."""
        result = self.env.reset(seed=seed, options=options)
        self.episode_start_time = time.perf_counter()
        self.episode_returns = 0.0
        self.episode_lengths = 0
        return result

    def _save_state(self) -> State:
        # Saved as a duration, because the clock's zero differs between processes.
        elapsed = time.perf_counter() - self.episode_start_time
        return {**super()._save_state(), "elapsed": elapsed}

    def _load_state(self, fields: State) -> None:
        (elapsed,), rest = take_fields(self, fields, "elapsed")
        super()._load_state(rest)
        self.episode_start_time = time.perf_counter() - elapsed
