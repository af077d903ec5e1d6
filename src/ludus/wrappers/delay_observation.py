"""Delays observations by a number of steps."""

from __future__ import annotations

from collections import deque
from typing import Any

from ludus.core import ActType, Env, ObservationWrapper, ObsType, RecordConstructorArgs
from ludus.wrappers.arguments import check_count
from ludus.wrappers.saved_fields import SavesObjects
from ludus.wrappers.zeros import create_zero_array

__all__ = ["DelayObservation"]


class DelayObservation(
    SavesObjects, ObservationWrapper[ObsType, ActType, ObsType], RecordConstructorArgs
):
    """Return every observation ``delay`` steps late, and zeros until the first one arrives.

    Raises:
        TypeError: ``delay`` is not an integer.
        ValueError: It is negative.
    """

    state_fields = ()
    saved_objects = ("observation_queue",)

    def __init__(self, env: Env[ObsType, ActType], delay: int) -> None:
        check_count("delay", delay, at_least=0)
        RecordConstructorArgs.__init__(self, delay=delay)
        super().__init__(env)
        self.delay = int(delay)
        self.observation_queue: deque[ObsType] = deque()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset and empty the queue of delayed observations."""
        self.observation_queue.clear()
        return super().reset(seed=seed, options=options)

    def observation(self, observation: ObsType) -> Any:
        """Return the observation of ``delay`` steps ago."""
        self.observation_queue.append(observation)
        if len(self.observation_queue) > self.delay:
            return self.observation_queue.popleft()
        return create_zero_array(self.observation_space)
