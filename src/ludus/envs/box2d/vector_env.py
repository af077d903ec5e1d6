"""Many landers or walkers, whose worlds are stepped in compiled code, in threads."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ludus.core.batch_arguments import episode_over, seeds_per_env
from ludus.core.finite import check_finite_batch
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.envs.box2d.native_batch import (
    DESTROY,
    REPLAY,
    RESTART,
    STEP,
    WHAT,
    Batch,
    make_batch,
    make_table,
)
from ludus.envs.box2d.native_program import NativeProgram, native_program
from ludus.envs.box2d.native_sharing import Sharing
from ludus.errors import ClosedEnvironmentError, ResetNeeded, StateError
from ludus.kernel.seed_words import seed_rows
from ludus.kernel.team import Team
from ludus.spaces import Space, batch_space
from ludus.vector import SyncVectorEnv
from ludus.wrappers.time_limit import TimeLimit
from ludus.wrappers.vector.reset_mask import split_reset_mask

__all__ = ["BatchedEnv", "Box2DVectorEnv", "make_vector"]

_OWN_ARGUMENTS = ("autoreset_mode", "copy", "num_threads")
_NO_LIMIT = np.iinfo(np.int64).max
_FIRST_LOG = 256
# To wake a thread takes as long as to step an environment or two.
_ENVS_PER_THREAD = 4
_SAVED = ("starts", "elapsed", "waiting", "words")


class BatchedEnv(Protocol):
    """What an environment tells about itself, so that compiled code can run many of it."""

    observation_space: Space[Any]
    action_space: Space[Any]
    metadata: dict[str, Any]
    render_mode: str | None
    action_size: int

    def batch_options(self) -> list[float] | None:
        """Return the numbers that compiled code reads, ``None`` if it cannot run this one."""

    def batch_parts(self) -> Any:
        """Return new definitions of everything in a world, with ``for_compiled_code()``."""

    def batch_actions(self, actions: Any, rows: Any) -> None:
        """Write a batch of actions into rows of numbers; raise InvalidAction or ValueError."""


def make_vector(kind: Any, num_envs: int, kwargs: dict[str, Any]) -> VectorEnv[Any, Any, Any]:
    """Build many environments of a kind, in compiled code where that can run them.

    Args:
        kind: The class of the single environment.
        num_envs: How many.
        kwargs: The class's arguments, ``max_episode_steps`` and those of :class:`Box2DVectorEnv`.
    """
    limit = kwargs.pop("max_episode_steps", None)
    own = {name: kwargs.pop(name) for name in _OWN_ARGUMENTS if name in kwargs}
    env = kind(**kwargs)
    drawn = env.render_mode is not None
    program = None if drawn or env.batch_options() is None else native_program()
    if program is not None:
        return Box2DVectorEnv(env, num_envs, program, max_episode_steps=limit, **own)
    env.close()
    own.pop("num_threads", None)
    return SyncVectorEnv([partial(_single, kind, kwargs, limit)] * num_envs, **own)


def _single(kind: Any, kwargs: dict[str, Any], limit: int | None) -> Any:
    env = kind(**kwargs)
    return env if limit is None else TimeLimit(env, limit)


class Box2DVectorEnv(VectorEnv[Any, Any, Any]):
    """``num_envs`` environments that return, step for step, what single ones return.

    Args:
        env: One of them, for what they have in common.
        num_envs: How many.
        program: The compiled code.
        max_episode_steps: Steps after which an episode is truncated; ``None`` for never.
        autoreset_mode: When a finished environment starts its next episode.
        copy: ``False`` returns the buffers themselves, which the next step overwrites.
        num_threads: Threads that share the environments; by default as many as there are
            processors, but no more than the environments are worth.
    """

    def __init__(
        self,
        env: BatchedEnv,
        num_envs: int,
        program: NativeProgram,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        num_threads: int | None = None,
    ) -> None:
        self.env = env
        self.num_envs = num_envs
        self.copy = copy
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**env.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = env.observation_space
        self.single_action_space = env.action_space
        self.observation_space = batch_space(env.observation_space, num_envs)
        self.action_space = batch_space(env.action_space, num_envs)
        self._limit = _NO_LIMIT if max_episode_steps is None else max_episode_steps
        if num_threads is None:
            num_threads = max(1, min(_processors(), num_envs // _ENVS_PER_THREAD))
        self._team = Team(num_threads, num_envs)
        self._program = program
        self._definitions = [env.batch_parts() for _ in range(num_envs)]
        self._batch = self._make_batch()
        self._table = make_table(self._batch, self._limit)
        self._sharing = Sharing(self._team, program.drive, self._table)
        self._started = np.zeros(num_envs, np.bool_)
        self._seeds: list[int | None] = [None] * num_envs
        # The engine's memory is not Python's; what the worlds refer to lives until they are gone.
        self._end = weakref.finalize(self, _destroy, program, self._batch, self._definitions)

    def _make_batch(self) -> Batch:
        joints = self._program.joint_table.ctypes.data
        parts = [
            [*(int(part.this) for part in definitions.for_compiled_code()), joints]
            for definitions in self._definitions
        ]
        (size,) = self.single_observation_space.shape or (0,)
        batch = make_batch(
            parts,
            self.env.batch_options() or [],
            action_size=self.env.action_size,
            observation_size=size,
            log_size=_FIRST_LOG,
        )
        batch.listeners[:, 0] = self._program.listener_table.ctypes.data
        batch.rays[:, 0] = self._program.ray_table.ctypes.data
        return batch

    def _run(self, what: int) -> int:
        self._table[WHAT] = what
        return self._sharing.run()

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes; an int seed gives environment ``i`` the seed ``seed + i``.

        ``options["reset_mask"]`` chooses the environments to reset.
        """
        self._check_open()
        seeds = seeds_per_env(seed, self.num_envs)
        mask, _ = split_reset_mask(options, self.num_envs)
        chosen = np.ones(self.num_envs, np.bool_) if mask is None else mask
        if not (chosen | self._started).all():
            raise ResetNeeded("The first reset() must be a whole one, without a reset_mask.")
        for index, used in seed_rows(self._batch.words, seeds, chosen, self._started).items():
            self._seeds[index] = used
        waiting = self._batch.waiting
        still = waiting & ~chosen
        waiting[...] = chosen
        self._run(RESTART)
        waiting[...] = still
        self._started |= chosen
        return self._result(self._batch.observations), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Advance every environment by its action.

        Raises:
            InvalidAction: An action is not in the action space, or is not finite.
            ResetNeeded: There was no reset yet.
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
            ValueError: Not one action per environment.

        After an error nothing has been stepped.
        """
        self._check_open()
        if not self._started.all():
            raise ResetNeeded("Call reset() before the first step().")
        batch = self._batch
        if self.autoreset_mode is AutoresetMode.DISABLED and batch.waiting.any():
            raise episode_over(np.flatnonzero(batch.waiting).tolist())
        self.env.batch_actions(actions, batch.actions)
        space = self.single_action_space
        check_finite_batch(batch.actions[:, : math.prod(space.shape or ())], space)
        if batch.elapsed.max() >= batch.log.shape[1]:
            self._grow()
            batch = self._batch
        ended = self._run(STEP)
        infos: dict[str, Any] = {}
        if ended and self.autoreset_mode is AutoresetMode.SAME_STEP:
            for i in np.flatnonzero(batch.waiting).tolist():
                final = {"final_obs": batch.observations[i].copy(), "final_info": {}}
                infos = self._add_info(infos, final, i)
            rewards = batch.rewards.copy()
            self._run(RESTART)
            batch.rewards[...] = rewards
        results = (batch.observations, batch.rewards, batch.terminated, batch.truncated)
        seen, rewards, terminated, truncated = map(self._result, results)
        return seen, rewards, terminated, truncated, infos

    def _result(self, array: Any) -> Any:
        return array.copy() if self.copy else array

    def _grow(self, size: int = 0) -> None:
        """Make room for more actions: twice as many, or as many as asked for."""
        old = self._batch.log
        n, steps, numbers = old.shape
        log = np.zeros((n, max(2 * steps, size), numbers))
        log[:, :steps] = old
        self._batch = self._batch._replace(log=log)
        self._table[...] = make_table(self._batch, self._limit)

    def get_state(self) -> State:
        """Return how every episode began, and the actions since, as plain data."""
        self._check_open()
        batch = self._batch
        return {
            "vector_env": type(self).__name__,
            "options": batch.options.tolist(),
            "num_envs": self.num_envs,
            "started": self._started.copy(),
            "log": batch.log[:, : int(batch.elapsed.max())].copy(),
            **{name: getattr(batch, name).copy() for name in _SAVED},
        }

    def set_state(self, state: State) -> None:
        """Run the saved episodes again, up to where they were saved.

        Raises:
            StateError: The state belongs to other environments, or to another number of them, or
                is damaged.
        """
        self._check_open()
        expected = (type(self).__name__, self._batch.options.tolist(), self.num_envs)
        found = tuple(state.get(key) for key in ("vector_env", "options", "num_envs"))
        if found != expected:
            raise StateError(f"The state was taken from {found} and cannot be set on {expected}.")
        log, saved = _undamaged(state, self._batch, self._started)
        if log.shape[1] > self._batch.log.shape[1]:
            self._grow(log.shape[1])
        batch = self._batch
        batch.log[:, : log.shape[1]] = log
        for name in _SAVED:
            getattr(batch, name)[...] = saved[name]
        self._started[...] = saved["started"]
        if self._started.all():
            self._run(REPLAY)

    def render(self) -> tuple[Any, ...] | None:
        """Warn that nothing is drawn: ask for a ``render_mode`` to have single environments."""
        self.env.render()  # type: ignore[attr-defined]
        return None

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:
        """The seeds of the environments."""
        return tuple(self._seeds)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads and free the worlds."""
        self._team.close()
        self._end()

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                f"Trying to operate on {self!r} after close(). Build a new vector environment."
            )


def _undamaged(state: State, batch: Batch, started: Any) -> tuple[Any, dict[str, Any]]:
    """Return the log and the other arrays of a state; compiled code would trust them blindly.

    Raises:
        StateError: An array is missing, or of another type or shape, or has impossible numbers.
    """
    own = {"started": started, **{name: getattr(batch, name) for name in _SAVED}}
    for name, array in {**own, "log": batch.log}.items():
        found = state.get(name)
        if not isinstance(found, np.ndarray) or found.dtype != array.dtype:
            raise StateError(f"The state is damaged: {name} is no array of {array.dtype}.")
        if name != "log" and found.shape != array.shape:
            raise StateError(
                f"The state is damaged: {name} has the shape {found.shape}, not {array.shape}."
            )
    log, (n, _, numbers) = state["log"], batch.log.shape
    if log.ndim != 3 or log.shape[::2] != (n, numbers) or not np.isfinite(log).all():
        raise StateError("The state is damaged: log is no list of actions for each environment.")
    if not ((state["elapsed"] >= 0) & (state["elapsed"] <= log.shape[1])).all():
        raise StateError("The state is damaged: it counts more steps than it holds actions.")
    return log, {name: state[name] for name in own}


def _destroy(program: NativeProgram, batch: Batch, _definitions: Any) -> None:
    table = make_table(batch, 0)
    table[WHAT] = DESTROY
    Sharing(Team(1, len(batch.elapsed)), program.drive, table).run()


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
