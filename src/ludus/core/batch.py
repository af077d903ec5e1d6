"""What every batch of environments does alike, whatever steps its rows.

A backend steps rows and resets rows. :class:`BatchEnv` decides which rows, and when: it checks
calls, applies the autoreset mode and the time limit, merges infos, counts episodes and writes the
header of states.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic

import numpy as np

from ludus.core.batch_arguments import (
    BatchedSpaces,
    refuse_after_fork,
    seeds_per_env,
    split_reset_mask,
)
from ludus.core.env import check_state_owner
from ludus.core.episodes import Episodes
from ludus.core.infos import Infos, merge_infos, select_infos
from ludus.core.state import refusing_damage
from ludus.core.types import ActType, ObsType, State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.errors import ClosedEnvironmentError, StateError

__all__ = ["BatchEnv", "Stepped"]

Rows = Any
"""Numbers of environments: an array of ints in rising order."""


Stepped = tuple[Any, Any, Any, Infos]
"""Rewards, terminations, truncations and infos of some rows, in their order.

The infos are a plain dict of merged infos if the backend resets by itself."""


class BatchEnv(VectorEnv[ObsType, ActType, Any], Generic[ObsType, ActType]):
    """Base class of batches.

    A backend implements :meth:`_reset_rows`, :meth:`_observe`, and either :meth:`_step_rows` or
    the pair :meth:`_start` and :meth:`_finish`; further :meth:`_final_observations`, unless it
    resets by itself. To save states it implements :meth:`_save` and :meth:`_load`.

    Args:
        num_envs: How many environments.
        spaces: Those of one environment and of the batch.
        metadata: The metadata of the environments.
        render_mode: Their render mode.
        autoreset_mode: When a finished environment starts its next episode.
        max_episode_steps: Steps after which the base truncates an episode; ``None`` if there is
            no limit, or if the backend applies it.

    Raises:
        ValueError: There is no such ``autoreset_mode``.
    """

    resets_itself: ClassVar[frozenset[AutoresetMode]] = frozenset()
    """Modes in which ``_step_rows`` resets finished environments; infos then come merged."""
    checks_started: ClassVar[bool] = True
    """Whether a step before the first reset is refused here; ``False`` leaves it to the
    environments."""
    counts_episodes: ClassVar[bool] = True
    """Whether the base counts lengths and returns; it takes a few microseconds a step."""
    not_forkable: ClassVar[str] = ""
    """Why a forked process cannot use the batch; empty if it can."""

    _closed_because: str = ""
    """Why the batch closed itself, for the error that says it is closed."""
    _seeds: Sequence[int | None] | None = None
    """The seeds of the environments, if the backend keeps them here."""

    def __init__(
        self,
        num_envs: int,
        spaces: BatchedSpaces,
        *,
        metadata: dict[str, Any],
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        # A copy, because metadata is usually an attribute of the environment's class.
        self.metadata = {**metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.single_observation_space = spaces.single_observation
        self.observation_space = spaces.observation
        self.single_action_space = spaces.single_action
        self.action_space = spaces.action
        self.max_episode_steps = max_episode_steps
        self._episodes = Episodes(
            num_envs, self.autoreset_mode, max_episode_steps, sums=self.counts_episodes
        )
        self._all: Rows = np.arange(num_envs)
        self._maker = os.getpid()
        resets = self.autoreset_mode not in self.resets_itself
        self._resets_next = resets and self.autoreset_mode is AutoresetMode.NEXT_STEP
        self._resets_same = resets and self.autoreset_mode is AutoresetMode.SAME_STEP

    # --- what a backend implements ------------------------------------------------------------

    def _reset_rows(
        self, rows: Rows, seeds: Sequence[int | None] | None, options: dict[str, Any] | None
    ) -> Infos:
        """Reset environments.

        Args:
            rows: Which ones.
            seeds: A seed for each environment of the batch; ``None`` if none was given.
            options: What ``reset`` got, without the mask.

        Returns:
            Infos of the rows, or a plain dict of merged infos.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement _reset_rows()")

    def _step_rows(self, rows: Rows, actions: Any) -> Stepped:
        """Step environments; ``actions`` has one for each environment of the batch."""
        self._start(rows, actions)
        _, stepped = self._finish(len(rows), None)
        return stepped

    def _observe(self) -> Any:
        """Return the batch of observations, as ``reset`` and ``step`` return it."""
        raise NotImplementedError(f"{type(self).__name__} must implement _observe()")

    def _final_observations(self, rows: Rows) -> Iterable[Any]:
        """Return the last observations of finished environments, which the next call keeps."""
        raise NotImplementedError(f"{type(self).__name__} must implement _final_observations()")

    # --- what a backend may implement ---------------------------------------------------------

    def _read_actions(self, actions: Any) -> Any:
        """Return the actions in the form that ``_start`` takes.

        Raises:
            InvalidAction: An action is not in the action space.
            ValueError: Not one action per environment.
        """
        return actions

    def _start(self, rows: Rows, actions: Any) -> None:
        """Start a step of some rows without waiting for it.

        Args:
            rows: Which ones; none of them is started and not finished.
            actions: One for each environment of the batch.
        """
        self._begun = rows, actions

    def _finish(self, count: int, deadline: float | None) -> tuple[Rows, Stepped]:
        """Wait until ``count`` of the started rows are stepped, and return which.

        Args:
            count: How many rows; no more than were started and not returned yet.
            deadline: The time of ``time.monotonic()`` to wait until; ``None`` waits on.

        Raises:
            TimeoutError: The deadline passed; the rows can still be waited for.
        """
        rows, actions = self._begun
        return rows, self._step_rows(rows, actions)

    def _identity(self) -> State:
        """Return what a state must have in common with this batch, as plain data."""
        return {}

    def _save(self) -> State:
        """Return the state of all environments as plain data."""
        raise StateError(f"{type(self).__name__} cannot save its state.")

    def _load(self, state: State) -> None:
        """Continue from a state of this class and identity.

        What a damaged state makes go wrong here is raised as StateError.
        """
        raise StateError(f"{type(self).__name__} cannot restore a state.")

    # --- what every batch does ----------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: An int gives environment ``i`` the seed ``seed + i``; a sequence, one each.
            options: Passed on to the environments, but for ``"reset_mask"``, a boolean array of
                the environments to reset; the others keep their observation.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            ResetNeeded: A mask leaves out an environment that was never reset.
            TypeError: A seed or mask of a wrong type.
            ValueError: Not one seed or mask entry per environment.
        """
        self._check_open()
        seeds = None if seed is None else seeds_per_env(seed, self.num_envs)
        mask, options = split_reset_mask(options, self.num_envs)
        rows = self._all
        if mask is not None:
            self._episodes.check_mask(mask)
            rows = np.flatnonzero(mask)
        infos = self._reset_rows(rows, seeds, options)
        self._episodes.begin(rows)
        return self._observe(), merge_infos([(rows, infos)], self.num_envs)

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Step each environment, or reset it, as :attr:`autoreset_mode` says.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
            InvalidAction: An action is not in the action space.
            ResetNeeded: There was no reset yet.
            ValueError: Not one action per environment.
        """
        episodes, forked = self._episodes, self.not_forkable and os.getpid() != self._maker
        if self.closed or forked or not episodes.ready or episodes.any_over:
            self._check_ready()
        given = self._read_actions(actions)
        if episodes.any_over and self._resets_next:
            return self._step_and_reset(given)
        return self._settle(self._step_rows(self._all, given))

    def _settle(self, stepped: Stepped) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Apply limit and autoreset mode to a step of all rows, and return its results."""
        rewards, terminations, truncations, infos = stepped
        if self.max_episode_steps is not None:
            truncations = self._episodes.truncated(truncations)
        over = terminations | truncations
        if self._episodes.count(rewards, over) and self._resets_same:
            infos = self._reset_finished(over, infos)
        elif type(infos) is not dict:
            infos = merge_infos([(self._all, infos)], self.num_envs) if infos else {}
        return self._observe(), rewards, terminations, truncations, infos

    def _step_and_reset(self, actions: Any) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Reset the finished environments and step the others."""
        n, over = self.num_envs, self._episodes.over
        rows, due = (~over).nonzero()[0], over.nonzero()[0]
        rewards, flags = np.zeros(n), np.zeros((2, n), np.bool_)
        parts: list[tuple[Rows, Infos]] = []
        if len(rows):
            self._start(rows, actions)
            _, (rewards[rows], flags[0, rows], flags[1, rows], infos) = self._finish(
                len(rows), None
            )
            parts.append((rows, infos))
        terminations, truncations = flags[0], self._episodes.truncated(flags[1])
        parts.append((due, self._reset_rows(due, None, None)))
        self._episodes.count(rewards, terminations | truncations)
        return self._observe(), rewards, terminations, truncations, merge_infos(parts, n)

    def _reset_finished(self, over: Any, infos: Infos) -> dict[str, Any]:
        """Reset the environments that finished; return infos that hold their last results."""
        n, ended, others = self.num_envs, over.nonzero()[0], (~over).nonzero()[0]
        kept = np.full(n, None, dtype=object)
        for row, observation in zip(ended.tolist(), self._final_observations(ended), strict=True):
            kept[row] = observation
        final = merge_infos([(ended, select_infos(infos, ended))], n)
        told = self._reset_rows(ended, None, None)
        merged = merge_infos([(ended, told), (others, select_infos(infos, others))], n)
        merged |= {"final_obs": kept, "_final_obs": over}
        return merged | {"final_info": final, "_final_info": over.copy()}

    def get_state(self) -> State:
        """Return the state of every environment as plain data.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            StateError: An environment cannot save its state.
        """
        self._check_open()
        return {"vector_env": type(self).__name__, **self._identity(), **self._save()}

    @refusing_damage
    def set_state(self, state: State) -> None:
        """Continue from what :meth:`get_state` returned.

        Raises:
            ClosedEnvironmentError: The batch was closed.
            StateError: The state belongs to another kind of batch, or is damaged.
        """
        self._check_open()
        check_state_owner(self, state, "vector_env")
        own = self._identity()
        self._check_same({name: state.get(name) for name in own}, own)
        self._load(state)

    def _check_same(self, found: State, own: State) -> None:
        """Refuse a state that was taken from another kind of batch.

        Raises:
            StateError: ``found`` and ``own`` differ.
        """
        if found != own:
            raise StateError(
                f"The state was taken from a {type(self).__name__} with {found} and cannot be set "
                f"on one with {own}. Build it with the same environments, the same number of "
                "environments and the same versions."
            )

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on {self!r} after close(). Build a new vector environment."
                + self._closed_because
            )
        if self.not_forkable and os.getpid() != self._maker:
            refuse_after_fork(self, self._maker, self.not_forkable)

    def _check_ready(self) -> None:
        """Check that a step may start now."""
        if self.closed or self.not_forkable:
            self._check_open()
        self._check_episodes()

    def _check_episodes(self) -> None:
        """Check that every environment has an episode that goes on, or is reset by the step."""
        episodes = self._episodes
        if not episodes.ready:
            episodes.check_started(strict=self.checks_started)
        if episodes.any_over:
            episodes.check_over()

    @property
    def np_random_seed(self) -> Any:
        """The seeds of the environments; of :attr:`np_random` if the backend does not know them."""
        return super().np_random_seed if self._seeds is None else tuple(self._seeds)

    # --- statistics ---------------------------------------------------------------------------

    @property
    def episode_returns(self) -> Any:
        """Each environment's return so far in its episode."""
        return self._counted("returns")

    @property
    def episode_lengths(self) -> Any:
        """Each environment's steps so far in its episode."""
        return self._counted("lengths")

    @property
    def last_episode_returns(self) -> Any:
        """The return of the episode that each environment's last reset ended."""
        return self._counted("last_returns")

    @property
    def last_episode_lengths(self) -> Any:
        """The length of the episode that each environment's last reset ended."""
        return self._counted("last_lengths")

    def _counted(self, name: str) -> Any:
        if not self.counts_episodes:
            raise AttributeError(
                f"{type(self).__name__} counts no episodes; wrap it in RecordEpisodeStatistics."
            )
        return getattr(self._episodes, name).copy()
