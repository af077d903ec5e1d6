"""The host's own count of a batch's episodes, against which the box's flags are held.

A box is not trusted with time limits: the flag that says an episode was cut off must be there
when the host's count says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core.vector_env import AutoresetMode
from ludus.errors import EpisodeOver, Inadmissible, ResetNeeded

__all__ = ["Episodes"]


class Episodes:
    """When each environment's episode began, and whether it is over.

    Args:
        num_envs: how many environments.
        mode: when finished ones are reset.
        limit: steps after which an episode must be cut off; ``None`` for never.
    """

    def __init__(self, num_envs: int, mode: AutoresetMode, limit: int | None) -> None:
        self._mode, self._limit = mode, limit
        self._began: Any = np.zeros(num_envs, np.int64)
        self._over: Any = np.zeros(num_envs, np.bool_)
        self._any_over = False
        self._started = False
        self._now = 0
        # No episode can reach the limit before this step.
        self._look_at = limit or 0

    def reset(self, mask: Any | None) -> None:
        """Take note of a reset of all environments, or of those in the mask.

        Raises:
            ResetNeeded: the first reset is not a whole one.
        """
        chosen = slice(None) if mask is None else mask
        if mask is not None and not self._started:
            raise ResetNeeded("The first reset() must be a whole one, without a reset_mask.")
        self._started = True
        self._began[chosen], self._over[chosen] = self._now, False
        self._any_over = bool(self._over.any())

    def check_ready(self) -> None:
        """Refuse a step that has no episode to go on with.

        Raises:
            ResetNeeded: there was no reset yet.
            EpisodeOver: autoreset is disabled and a finished environment was not reset.
        """
        if not self._started:
            raise ResetNeeded("Call reset() before the first step().")
        if self._any_over and self._mode is AutoresetMode.DISABLED:
            raise EpisodeOver(
                f"The episodes of environments {np.flatnonzero(self._over).tolist()} are over and "
                "autoreset is disabled. Call reset(options={'reset_mask': terminated | truncated}) "
                "before the next step."
            )

    def step(self, rewards: Any, terminations: Any, truncations: Any) -> None:
        """Count a step and hold its flags against the count.

        Raises:
            Inadmissible: an episode is longer than its limit, or one that was to be reset was
                stepped instead.
        """
        self._now = now = self._now + 1
        over = terminations | truncations
        count = np.count_nonzero
        if self._any_over and self._mode is AutoresetMode.NEXT_STEP:
            before = self._over
            self._began[before] = now
            if count(rewards[before]) or count(over & before):
                raise Inadmissible(
                    "the step after an episode's end has a reward or a flag: it is the reset."
                )
        if self._limit is not None and now >= self._look_at:
            at_limit = now - self._began >= self._limit
            if (at_limit & ~truncations).any():
                index = int(np.flatnonzero(at_limit & ~truncations)[0])
                raise Inadmissible(
                    f"environment {index} made {self._limit} steps, its limit, and was not "
                    "truncated."
                )
            self._look_at = int(self._began.min()) + self._limit
        self._over, self._any_over = over, bool(count(over))
        if self._any_over and self._mode is AutoresetMode.SAME_STEP:
            self._began[over] = now

    def restart(self) -> None:
        """Forget the lengths, after a state was set: an episode may be as long again from here."""
        self._started = True
        # One step more, which may be the reset of an episode that was over.
        self._began[:], self._over[:] = self._now + 1, False
        self._any_over = False
