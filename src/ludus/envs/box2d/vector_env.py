"""Many landers or walkers, whose worlds are stepped in compiled code, in threads."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ludus.core.batch import BatchEnv, Stepped
from ludus.core.batch_arguments import BatchedSpaces, seeds_per_env
from ludus.core.finite import check_finite_batch
from ludus.core.infos import Columns
from ludus.core.types import State
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.envs.box2d.native.batch import (
    DESTROY,
    REPLAY,
    RESTART,
    STEP,
    WHAT,
    Batch,
    make_batch,
    make_table,
)
from ludus.envs.box2d.native.program import NativeProgram, native_program
from ludus.envs.box2d.native.sharing import Sharing
from ludus.errors import StateError
from ludus.kernel.batch.seeds import seed_rows
from ludus.kernel.batch.threads import Team
from ludus.kernel.native.jit import checked_mode
from ludus.spaces import Box, Space
from ludus.vector import SyncVectorEnv
from ludus.wrappers.common import TimeLimit

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


def make_vector(
    kind: Any, num_envs: int, kwargs: dict[str, Any], *, compile: str | None = None
) -> VectorEnv[Any, Any, Any]:
    """Build many environments of a kind, in compiled code where that can run them.

    Args:
        kind: The class of the single environment.
        num_envs: How many.
        kwargs: The class's arguments, ``max_episode_steps`` and those of :class:`Box2DVectorEnv`.
        compile: ``"never"`` builds single environments; ``"wait"`` and ``"background"`` compile
            code that is missing before they return, because a batch cannot change over later.
            By default what the environment variable ``LUDUS_COMPILE`` says, whose ``"never"``
            counts always.

    Raises:
        KernelError: There is no such way to compile.
    """
    never = compile is not None and checked_mode(compile, "compile") == "never"
    limit = kwargs.pop("max_episode_steps", None)
    own = {name: kwargs.pop(name) for name in _OWN_ARGUMENTS if name in kwargs}
    env = kind(**kwargs)
    single = never or env.render_mode is not None or env.batch_options() is None
    program = None if single else native_program()
    if program is not None:
        return Box2DVectorEnv(env, num_envs, program, max_episode_steps=limit, **own)
    env.close()
    own.pop("num_threads", None)
    return SyncVectorEnv([partial(_single, kind, kwargs, limit)] * num_envs, **own)


def _single(kind: Any, kwargs: dict[str, Any], limit: int | None) -> Any:
    env = kind(**kwargs)
    return env if limit is None else TimeLimit(env, limit)


class Box2DVectorEnv(BatchEnv[Any, Any]):
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

    resets_itself = frozenset({AutoresetMode.NEXT_STEP})

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
        super().__init__(
            num_envs,
            BatchedSpaces.of(env.observation_space, env.action_space, num_envs),
            metadata=env.metadata,
            autoreset_mode=autoreset_mode,
        )
        self.env = env
        self.copy = copy
        self._limit = _NO_LIMIT if max_episode_steps is None else max_episode_steps
        if num_threads is None:
            num_threads = max(1, min(_processors(), num_envs // _ENVS_PER_THREAD))
        self._team = Team(num_threads, num_envs)
        self._program = program
        self._definitions = [env.batch_parts() for _ in range(num_envs)]
        self._batch = self._make_batch()
        self._table = make_table(self._batch, self._limit)
        self._sharing = Sharing(self._team, program.drive, self._table)
        self._seeds: list[int | None] = [None] * num_envs
        self._steps_left = 0
        space = self.single_action_space
        self._floats: Any = None
        if isinstance(space, Box):
            self._floats = self._batch.actions[:, : math.prod(space.shape)]
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

    def _reset_rows(
        self, rows: Any, seeds: Sequence[int | None] | None, options: dict[str, Any] | None
    ) -> Columns:
        batch, started = self._batch, self._episodes.started
        chosen = np.zeros(self.num_envs, np.bool_)
        chosen[rows] = True
        if seeds is not None or not self._episodes.ready:
            given = seeds_per_env(None, self.num_envs) if seeds is None else seeds
            for index, used in seed_rows(batch.words, given, chosen, started).items():
                self._seeds[index] = used
        # Worlds begin with a step, whose reward is nobody's.
        still, rewards = batch.waiting & ~chosen, batch.rewards.copy()
        batch.waiting[...] = chosen
        self._run(RESTART)
        batch.waiting[...], batch.rewards[...] = still, rewards
        return Columns()

    def _read_actions(self, actions: Any) -> Any:
        """Write the actions where compiled code reads them; after an error nothing is stepped."""
        rows = self._batch.actions
        self.env.batch_actions(actions, rows)
        if self._floats is not None:
            check_finite_batch(self._floats, self.single_action_space)
        return rows

    def _step_rows(self, rows: Any, actions: Any) -> Stepped:
        if not self._steps_left:
            self._make_room()
        self._steps_left -= 1
        self._run(STEP)
        batch, result = self._batch, self._result
        flags = result(batch.terminated), result(batch.truncated)
        return result(batch.rewards), *flags, {}

    def _final_observations(self, rows: Any) -> Any:
        return self._batch.observations[rows]

    def _observe(self) -> Any:
        return self._result(self._batch.observations)

    def _result(self, array: Any) -> Any:
        return array.copy() if self.copy else array

    def _make_room(self) -> None:
        """Count for how many steps there is certainly room for actions, after making some."""
        if (used := int(self._batch.elapsed.max())) >= self._batch.log.shape[1]:
            self._grow()
        self._steps_left = self._batch.log.shape[1] - used

    def _grow(self, size: int = 0) -> None:
        """Make room for more actions: twice as many, or as many as asked for."""
        old = self._batch.log
        n, steps, numbers = old.shape
        log = np.zeros((n, max(2 * steps, size), numbers))
        log[:, :steps] = old
        self._batch = self._batch._replace(log=log)
        self._table[...] = make_table(self._batch, self._limit)

    def _identity(self) -> State:
        return {"options": self._batch.options.tolist(), "num_envs": self.num_envs}

    def _save(self) -> State:
        """Return how every episode began, and the actions since."""
        batch = self._batch
        return {
            "started": self._episodes.started.copy(),
            "log": batch.log[:, : int(batch.elapsed.max())].copy(),
            "episodes": self._episodes.save(),
            **{name: getattr(batch, name).copy() for name in _SAVED},
        }

    def _load(self, state: State) -> None:
        """Run the saved episodes again, up to where they were saved."""
        log, saved = _undamaged(state, self._batch, self._episodes.started)
        sums = {"lengths": saved["elapsed"], **state.get("episodes", {})}
        self._episodes.load(saved["started"], saved["waiting"] & saved["started"], sums)
        if log.shape[1] > self._batch.log.shape[1]:
            self._grow(log.shape[1])
        batch = self._batch
        batch.log[:, : log.shape[1]] = log
        for name in _SAVED:
            getattr(batch, name)[...] = saved[name]
        self._steps_left = 0
        if self._episodes.ready:
            self._run(REPLAY)

    def render(self) -> tuple[Any, ...] | None:
        """Warn that nothing is drawn: ask for a ``render_mode`` to have single environments."""
        self.env.render()  # type: ignore[attr-defined]
        return None

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads and free the worlds."""
        self._team.close()
        self._end()


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
