"""Vector environment that steps its environments in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import time
from collections.abc import Callable, Sequence
from enum import Enum
from multiprocessing import util as mp_util
from typing import Any, Generic, Literal

import numpy as np

from ludus import logger
from ludus.core.batch import BatchEnv, Stepped
from ludus.core.batch_arguments import (
    WORKERS,
    batched_spaces,
    copied_batch,
    one_per_env,
    seeds_per_env,
    split_reset_mask,
)
from ludus.core.env import Env
from ludus.core.types import ActType, ObsType, State
from ludus.core.vector_env import AutoresetMode
from ludus.errors import AlreadyPendingCallError, NoAsyncCallError
from ludus.spaces import Space
from ludus.vector.process.pipe_pool import PipePool
from ludus.vector.process.pool import WorkerPool

__all__ = ["AsyncState", "AsyncVectorEnv"]


class AsyncState(Enum):
    """The pending call of an :class:`AsyncVectorEnv`."""

    DEFAULT = "default"
    WAITING_RESET = "reset"
    WAITING_STEP = "step"
    WAITING_CALL = "call"


class AsyncVectorEnv(BatchEnv[ObsType, ActType], Generic[ObsType, ActType]):
    """A vector environment whose environments run in parallel in worker processes.

    A worker owns a block of environments. While stepping, everything but unusual infos is passed
    through shared memory. The environments are built in the workers only.

    Args:
        env_fns: Functions that build the environments, one each.
        shared_memory: ``False`` sends observations through pipes, as is always done for spaces
            without a fixed size.
        copy: Return copies of the observations; otherwise the next step overwrites them.
        context: How processes start: ``"fork"``, ``"spawn"``, ``"forkserver"``, or the default.
        daemon: Daemonic workers cannot start processes themselves.
        worker: A worker function, run in one process per environment; see
            :mod:`~.process.pipe_pool`.
        observation_mode: As for :class:`SyncVectorEnv`.
        autoreset_mode: When a finished environment starts its next episode.
        max_concurrency: Largest number of environments that run at the same time.
        num_workers: Number of processes; by default one per processor, at most one per
            environment.
        on_crash: ``"raise"`` raises :class:`WorkerCrashed` and closes if a worker dies;
            ``"restart"`` restarts the worker, truncates its episodes and reports them in
            ``infos["crashed"]``.
        step_timeout: Largest time in seconds for ``reset`` and ``step``; under
            ``on_crash="restart"`` a worker that exceeds it is killed and restarted.

    Raises:
        RuntimeError: The environments' spaces cannot be batched.
        ValueError: An argument is out of range, or not supported with ``worker``.
        WorkerCrashed: A worker died while building its environments.
    """

    resets_itself = frozenset(AutoresetMode)
    counts_episodes = False
    not_forkable = WORKERS

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        shared_memory: bool = True,
        copy: bool = True,
        context: str | None = None,
        daemon: bool = True,
        worker: Callable[..., None] | None = None,
        observation_mode: str | tuple[Space[Any], Space[Any]] = "same",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_concurrency: int | None = None,
        *,
        num_workers: int | None = None,
        on_crash: Literal["raise", "restart"] = "raise",
        step_timeout: float | None = None,
    ) -> None:
        if worker is not None and (num_workers is not None or on_crash == "restart"):
            raise ValueError(
                "A `worker` function serves one environment and is not restarted: leave out "
                f"num_workers={num_workers!r} and on_crash={on_crash!r}."
            )
        if on_crash not in ("raise", "restart"):
            raise ValueError(f"on_crash must be 'raise' or 'restart', got {on_crash!r}.")
        if not env_fns:
            raise ValueError("AsyncVectorEnv needs at least one environment, got no env_fns.")
        self.env_fns = env_fns
        self.shared_memory = shared_memory
        self.copy = copy
        self.context = context
        self.daemon = daemon
        self.worker = worker
        self.observation_mode = observation_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.max_concurrency = max_concurrency
        self.on_crash = on_crash
        self.step_timeout = step_timeout
        self._state = AsyncState.DEFAULT
        self._pool = self._new_pool(_worker_count(len(env_fns), num_workers, max_concurrency))
        # Runs when this object is collected, or at exit before multiprocessing joins its children.
        self._finalizer = mp_util.Finalize(self, self._pool.shutdown, exitpriority=100)
        try:
            self._adopt(self._pool.build())
        except BaseException:
            self._finalizer()
            raise

    def _new_pool(self, num_workers: int) -> WorkerPool | PipePool:
        context = multiprocessing.get_context(self.context)
        common: Any = {"mode": self.autoreset_mode, "daemon": self.daemon}
        common["name"] = type(self).__name__
        if self.worker is not None:
            return PipePool(
                context,
                self.env_fns,
                self.worker,
                observation_mode=self.observation_mode,
                max_concurrency=self.max_concurrency,
                **common,
            )
        return WorkerPool(
            context,
            self.env_fns,
            num_workers=num_workers,
            entropy=secrets.randbits(63),
            restart=self.on_crash == "restart",
            **common,
        )

    def _adopt(self, built: list[tuple[Space[Any], Space[Any], dict[str, Any], Any]]) -> None:
        spaces = batched_spaces(
            self.observation_mode, [env[0] for env in built], [env[1] for env in built]
        )
        super().__init__(
            len(built),
            spaces,
            metadata=built[0][2],
            render_mode=built[0][3],
            autoreset_mode=self.autoreset_mode,
        )
        self._pool.attach(spaces, shared_observations=self.shared_memory)

    @property
    def processes(self) -> list[Any]:
        """The worker processes."""
        return [] if self.closed else [worker.process for worker in self._pool.workers]

    @property
    def num_workers(self) -> int:
        """The number of worker processes."""
        return len(self._pool.workers)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """Copies of the environments' random generators."""
        return self.get_attr("np_random")

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seeds of the environments' random generators."""
        return self.get_attr("np_random_seed")

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Start new episodes; arguments as for :meth:`reset_async`."""
        self.reset_async(seed=seed, options=options)
        return self.reset_wait()

    def reset_async(
        self,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start resetting.

        Args:
            seed: An int gives environment ``i`` the seed ``seed + i``; a sequence has one for each.
            options: Passed on to every environment, except ``"reset_mask"``, a boolean array of
                the environments to reset.

        Raises:
            ClosedEnvironmentError: The vector environment is closed.
            AlreadyPendingCallError: Another call is pending.
            TypeError, ValueError: Invalid seeds or mask.
        """
        self._begin("reset_async")
        seeds = seeds_per_env(seed, self.num_envs)
        mask, options = split_reset_mask(options, self.num_envs)
        self._pool.start_reset(seeds, mask, options)
        self._state = AsyncState.WAITING_RESET

    def reset_wait(self, timeout: float | None = None) -> tuple[ObsType, dict[str, Any]]:
        """Wait for the reset that :meth:`reset_async` started.

        Raises:
            NoAsyncCallError: No reset was started.
            multiprocessing.TimeoutError: It took longer than ``timeout`` seconds.
        """
        self._end("reset_wait", AsyncState.WAITING_RESET)
        infos = self._pool.finish_reset(self._deadline(timeout), "reset_wait")
        return self._observe(), infos

    def step(self, actions: ActType) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Advance every environment by its action."""
        self.step_async(actions)
        return self.step_wait()

    def step_async(self, actions: ActType) -> None:
        """Start a step.

        Raises:
            ClosedEnvironmentError: The vector environment is closed.
            AlreadyPendingCallError: Another call is pending.
            ValueError: The actions have the wrong number or shape.
        """
        self._begin("step_async")
        self._start(self._all, actions)
        self._state = AsyncState.WAITING_STEP

    def step_wait(
        self, timeout: float | None = None
    ) -> tuple[ObsType, Any, Any, Any, dict[str, Any]]:
        """Wait for the step that :meth:`step_async` started.

        Raises:
            NoAsyncCallError: No step was started.
            multiprocessing.TimeoutError: It took longer than ``timeout`` seconds; the message
                names the environments that are still running.
            WorkerCrashed: A worker died.
            Exception: An environment's exception, with a note that names the environment.
        """
        self._end("step_wait", AsyncState.WAITING_STEP)
        # Limits, resets and infos are the workers' work: nothing is left to settle.
        stepped: Any = self._finish(self.num_envs, self._deadline(timeout))[1]
        rewards, terminations, truncations, infos = stepped
        return self._observe(), rewards, terminations, truncations, infos

    def _start(self, rows: Any, actions: Any) -> None:
        self._pool.start_step(actions)

    def _finish(self, count: int, deadline: float | None) -> tuple[Any, Stepped]:
        infos = self._pool.finish_step(deadline, "step_wait")
        arrays = self._pool.arrays
        flags = arrays.terminations.copy(), arrays.truncations.copy()
        return self._all, (arrays.rewards.copy(), *flags, infos)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call the method of each environment; an attribute that is not callable is returned."""
        self.call_async(name, *args, **kwargs)
        return self.call_wait()

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Start calling a method of each environment."""
        self._begin("call_async")
        self._pool.start("call", name, args, kwargs)
        self._state = AsyncState.WAITING_CALL

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Wait for the call that :meth:`call_async` started, and return its results."""
        self._end("call_wait", AsyncState.WAITING_CALL)
        deadline = None if timeout is None else time.monotonic() + timeout
        return tuple(self._pool.finish(deadline, "call_wait"))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return the attribute of each environment; a method is called without arguments."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set the attribute in each environment; a list or tuple has one value for each.

        Raises:
            ValueError: A list or tuple with another length than ``num_envs``.
        """
        self._begin("set_attr")
        values = one_per_env(values, self.num_envs)
        self._pool.start_each("set_attr", lambda rows: (name, list(values[rows.start : rows.stop])))
        self._pool.finish(None, "set_attr")

    def render(self) -> tuple[Any, ...] | None:
        """Return the frame of each environment."""
        return self.call("render")

    def _save(self) -> State:
        self._begin("get_state")
        self._pool.start("get_states")
        states = self._pool.finish(None, "get_state")
        return {
            "envs": [state["env"] for state in states],
            "autoreset": np.array([state["finished"] for state in states], dtype=np.bool_),
            "observations": copied_batch(self._pool.results.observations),
        }

    def _load(self, state: State) -> None:
        self._check_same({"num_envs": len(state["envs"])}, {"num_envs": self.num_envs})
        self._begin("set_state")
        states = [
            {"env": env, "finished": bool(finished)}
            for env, finished in zip(state["envs"], state["autoreset"], strict=True)
        ]
        self._pool.start_each("set_states", lambda rows: (states[rows.start : rows.stop],))
        self._pool.finish(None, "set_state")
        self._pool.results.restore_observations(state["observations"])

    def close_extras(  # type: ignore[override]
        self, timeout: float | None = None, terminate: bool = False
    ) -> None:
        """Close the environments and stop the workers.

        Args:
            timeout: Seconds to wait for a pending call and for the environments to close (by
                default 10) before the workers are killed.
            terminate: Kill the workers at once.
        """
        if os.getpid() != self._maker:
            return  # A forked child must not stop the workers of its parent, nor wait for them.
        if self._state is not AsyncState.DEFAULT:
            logger.warn(
                f"Calling `close` while waiting for a pending call to `{self._state.value}` to "
                "complete."
            )
        grace = 0.0 if terminate else 10.0 if timeout is None else timeout
        failure = self._pool.close(grace)
        self._finalizer()
        if failure is not None:
            raise failure

    def _begin(self, name: str) -> None:
        """Raise if the environment is closed or a call is pending."""
        self._check_open()
        if self._state is not AsyncState.DEFAULT:
            pending = self._state.value
            raise AlreadyPendingCallError(
                f"Calling `{name}` while waiting for a pending call to `{pending}` to complete. "
                f"Call `{pending}_wait` first.",
                pending,
            )

    def _end(self, name: str, expected: AsyncState) -> None:
        """Raise unless a call of this kind is pending, and mark it as finished."""
        self._check_open()
        if self._state is not expected:
            started = f"{expected.value}_async"
            raise NoAsyncCallError(
                f"Calling `{name}` without any prior call to `{started}`.", expected.value
            )
        self._state = AsyncState.DEFAULT

    def _check_open(self) -> None:
        if self._pool.broken is not None:
            self._closed_because = f" Closed because: {self._pool.broken}"
            self.close(terminate=True)
        if self.closed or os.getpid() != self._maker:
            super()._check_open()

    def _deadline(self, timeout: float | None) -> float | None:
        limit = self.step_timeout if timeout is None else timeout
        return None if limit is None else time.monotonic() + limit

    def _observe(self) -> Any:
        observations = self._pool.results.observations
        return copied_batch(observations) if self.copy else observations


def _worker_count(num_envs: int, num_workers: int | None, max_concurrency: int | None) -> int:
    for name, value in (("num_workers", num_workers), ("max_concurrency", max_concurrency)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"`{name}` must be a positive integer or None, got {value!r}.")
    if num_workers is None:
        num_workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return int(min(num_workers, num_envs, max_concurrency or num_envs))
