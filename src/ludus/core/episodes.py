"""The episodes of a batch: which have begun, which are over, their lengths and returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludus.core.batch_arguments import episode_over
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode
from ludus.errors import Inadmissible, ResetNeeded

__all__ = ["Episodes"]

_SUMS = ("lengths", "returns", "last_lengths", "last_returns")


class Episodes:
    """Counts the episodes of a batch, one per environment.

    Lengths are kept as the step at which an episode began, so counting a step of a whole batch
    costs one addition.

    Args:
        num_envs: How many environments.
        mode: When finished ones are reset.
        limit: Steps after which an episode is truncated; ``None`` for never.
        sums: Whether to count lengths and returns; a limit needs it.
    """

    def __init__(
        self, num_envs: int, mode: AutoresetMode, limit: int | None = None, *, sums: bool = True
    ) -> None:
        self._mode, self._limit, self._has_sums = mode, limit, sums
        self._same_step = mode is AutoresetMode.SAME_STEP
        self.started: Any = np.zeros(num_envs, np.bool_)
        """Which environments were reset at least once."""
        self.ready = False
        """Whether all of them were."""
        self.over: Any = np.zeros(num_envs, np.bool_)
        """Which episodes ended and were not reset since."""
        self.any_over = False
        self.returns: Any = np.zeros(num_envs)
        self.last_returns: Any = np.zeros(num_envs)
        self.last_lengths: Any = np.zeros(num_envs, np.int64)
        self._began: Any = np.zeros(num_envs, np.int64)
        self._now = 0
        # No episode can reach the limit before this step.
        self._check_at = limit or 0

    @property
    def lengths(self) -> Any:
        """Steps of each episode so far."""
        return np.maximum(self._now - self._began, 0)

    def check_mask(self, mask: Any) -> None:
        """Refuse a partial reset that leaves out an environment without an episode.

        Raises:
            ResetNeeded: The first reset is not a whole one.
        """
        if not (mask | self.started).all():
            raise ResetNeeded("The first reset() must be a whole one, without a reset_mask.")

    def check_started(self, *, strict: bool = True) -> None:
        """Refuse a step before the first reset, or if not strict, take it for one.

        Raises:
            ResetNeeded: An environment was never reset.
        """
        if strict and not self.started.all():
            raise ResetNeeded("Call reset() before the first step().")
        self.started[...] = self.ready = True

    def check_over(self) -> None:
        """Refuse a step of finished environments that nothing resets.

        Raises:
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
        """
        if self.any_over and self._mode is AutoresetMode.DISABLED:
            raise episode_over(np.flatnonzero(self.over).tolist())

    def begin(self, rows: Any) -> None:
        """Begin new episodes in the given rows."""
        if not self.ready:
            self.started[rows] = True
            self.ready = np.count_nonzero(self.started) == len(self.started)
        if self._now:
            self._renew(rows, self._now)
        if self.any_over:
            self.over[rows] = False
            self.any_over = bool(self.over.any())

    def at_limit(self) -> Any | None:
        """Return which episodes reach the limit with the step that is counted next."""
        now = self._now + 1
        if self._limit is None or now < self._check_at:
            return None
        # What is over is reset by that step.
        reached = (now - self._began >= self._limit) & ~self.over
        self._check_at = int(self._began.min()) + self._limit
        return reached

    def truncated(self, truncations: Any) -> Any:
        """Return the truncations of a step, which is not counted yet, with those by the limit."""
        reached = self.at_limit()
        return truncations if reached is None else truncations | reached

    def check_flags(self, rewards: Any, over: Any, truncations: Any) -> None:
        """Compare the flags of a step, which is not counted yet, with the counts.

        It is for batches that run where they are not trusted.

        Raises:
            Inadmissible: An episode is longer than its limit, or one that was to be reset was
                stepped instead.
        """
        if self.any_over and self._mode is AutoresetMode.NEXT_STEP:
            due = self.over
            if np.count_nonzero(rewards[due]) or np.count_nonzero(over & due):
                raise Inadmissible(
                    "the step after an episode's end has a reward or a flag: it is the reset."
                )
        reached = self.at_limit()
        if reached is not None and (reached & ~truncations).any():
            index = int(np.flatnonzero(reached & ~truncations)[0])
            raise Inadmissible(
                f"environment {index} made {self._limit} steps, its limit, and was not truncated."
            )

    def count(self, rewards: Any, over: Any, rows: Any | None = None) -> bool:
        """Count a step, which in next-step mode resets what was over before it.

        Args:
            rewards: One for each row.
            over: Of each row whether its episode ended with the step.
            rows: Numbers of the environments that were stepped; ``None`` for all.

        Returns:
            Whether an episode ended with the step.
        """
        ended = bool(np.count_nonzero(over))
        if rows is not None and self._has_sums:
            self._count_some(rewards, over, rows)
            return ended
        if self._has_sums:
            if self.any_over:
                self._renew(self.over.nonzero()[0], self._now + 1)
                self.over, self.any_over = np.zeros_like(over), False
            self._now += 1
            self.returns += rewards
            if ended and self._same_step:
                self._renew(over.nonzero()[0], self._now)
        if not self._same_step:
            self.over, self.any_over = over, ended
        return ended

    def _count_some(self, rewards: Any, over: Any, rows: Any) -> None:
        self._renew(rows[self.over[rows]], self._now + 1)
        self._now += 1
        # Episodes that are not stepped begin one step later, so their length stays.
        self._began += 1
        self._began[rows] -= 1
        self.returns[rows] += rewards
        if self._same_step:
            self._renew(rows[over], self._now)
        else:
            self.over[rows] = over
            self.any_over = bool(self.over.any())

    def _renew(self, rows: Any, began: int) -> None:
        """Keep lengths and returns of episodes as the last ones, and begin others."""
        self.last_returns[rows], self.returns[rows] = self.returns[rows], 0.0
        self.last_lengths[rows] = np.maximum(self._now - self._began[rows], 0)
        self._began[rows] = began

    def save(self) -> State:
        """Return lengths and returns as plain data."""
        return {name: getattr(self, name).copy() for name in _SUMS}

    def load(self, started: Any, over: Any, sums: State | None = None) -> None:
        """Continue from saved flags and from what :meth:`save` returned.

        Sums that are missing begin at zero, lengths one step later: that may be a reset.

        Raises:
            TypeError, ValueError: Something has another shape or type; nothing has changed then.
        """
        shape, found = self.over.shape, {"lengths": -1, **(sums or {})}
        flags = [np.broadcast_to(np.asarray(part, np.bool_), shape) for part in (started, over)]
        lengths, returns, last_lengths, last_returns = (
            np.broadcast_to(np.asarray(found.get(name, 0), getattr(self, name).dtype), shape)
            for name in _SUMS
        )
        # Step 0 is before the first count, when every sum is known to be zero.
        self._now += 1
        self.started[...], self.over = flags[0], flags[1].copy()
        self.ready, self.any_over = bool(self.started.all()), bool(self.over.any())
        self._began[...] = self._now - lengths
        self.returns[...] = returns
        self.last_lengths[...], self.last_returns[...] = last_lengths, last_returns
        self._check_at = 0
