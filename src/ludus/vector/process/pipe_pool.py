"""Runs a worker function of the user, in one process per environment.

The function has the signature of Gymnasium's workers: ``worker(index, env_fn, pipe, parent_pipe,
shared_memory, error_queue, autoreset_mode)``, with a semaphore as optional eighth argument. It
answers the commands ``reset``, ``step``, ``close``, ``_call``, ``_setattr`` and ``_check_spaces``,
each a pair (command, data), with pairs (result, success), and puts errors into the queue as (index,
exception type, exception, traceback).
"""

from __future__ import annotations

import contextlib
import inspect
import multiprocessing
import os
import queue
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ludus.core.batch_arguments import BatchedSpaces, episode_over
from ludus.core.env import Env
from ludus.core.foreign.env import as_env
from ludus.core.vector_env import AutoresetMode
from ludus.errors import CustomSpaceError, StateError, WorkerCrashed, WorkerRaised
from ludus.spaces import (
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
)
from ludus.vector.process.info_columns import merge_rows
from ludus.vector.utils.misc import CloudpickleWrapper, clear_mpi_env_vars

__all__ = ["PipePool"]

_COMMANDS = {"call": "_call", "set_attr": "_setattr"}
_REASON_SECONDS = 5.0
"""How long to wait for the exception of a worker that reported a failure."""


class _Member:
    """One process, its pipe, and whether an answer is pending."""

    def __init__(self, index: int, process: Any, pipe: Any) -> None:
        self.index = index
        self.process = process
        self.pipe = pipe
        self.pending = False


class PipePool:
    """Replacement of :class:`~ludus.vector.process.pool.WorkerPool` for a user's worker function.

    ``arrays`` and ``results`` are the pool itself, which has the attributes of both.
    """

    def __init__(
        self,
        context: Any,
        env_fns: Sequence[Callable[[], Env]],
        worker: Callable[..., None],
        *,
        mode: AutoresetMode,
        observation_mode: Any,
        max_concurrency: int | None,
        daemon: bool,
        name: str,
    ) -> None:
        self._context = context
        self._env_fns = env_fns
        self._worker = worker
        self._mode = mode
        self._observation_mode = observation_mode
        self._max_concurrency = max_concurrency
        self._daemon = daemon
        self._name = name
        self._owner = os.getpid()
        n = self.num_envs = len(env_fns)
        self.broken: WorkerCrashed | None = None
        self.workers: list[_Member] = []
        self.arrays = self.results = self
        self.observations: Any = None
        self.rewards = np.zeros(n)
        self.terminations, self.truncations = np.zeros((2, n), np.bool_)
        self._rows: list[Any] = [None] * n

    # --- set-up -------------------------------------------------------------------------------

    def build(self) -> list[tuple[Any, Any, dict[str, Any], Any]]:
        """Return spaces, metadata and render mode of environments that are built and closed here.

        The workers check that their spaces are the same. All environments are built here only if
        their observation spaces may differ.
        """
        differ = self._observation_mode == "different"
        built = []
        for env_fn in self._env_fns if differ else self._env_fns[:1]:
            env = as_env(env_fn())
            built.append(
                (env.observation_space, env.action_space, dict(env.metadata), env.render_mode)
            )
            env.close()
        return built if differ else built * self.num_envs

    def attach(self, spaces: BatchedSpaces, *, shared_observations: bool) -> None:
        """Start the processes and have them check their spaces.

        Raises:
            RuntimeError: The environments' spaces cannot be batched.
        """
        self._spaces = spaces
        n, single = self.num_envs, spaces.single_observation
        memory = None
        if shared_observations:
            with contextlib.suppress(CustomSpaceError):
                memory = create_shared_memory(single, n, self._context)
        if memory is None:
            self.observations = create_empty_array(single, n, fn=np.zeros)
        else:
            self.observations = read_from_shared_memory(single, memory, n)
        self._shared = memory is not None
        self._start_processes(memory)
        spaces_of_one = (self._observation_mode, single, spaces.single_action)
        self._send(self.workers, lambda _: ("_check_spaces", spaces_of_one))
        for index, fits in enumerate(self.finish(None, "the check of the spaces")):
            for kind, fit in zip(("observation", "action"), fits, strict=True):
                if not fit:
                    raise RuntimeError(
                        f"The {kind} space of environment {index} does not fit the others': with "
                        f"observation_mode={self._observation_mode!r}, {spaces} were expected."
                    )

    def _start_processes(self, memory: Any) -> None:
        context, limit = self._context, self._max_concurrency
        self._errors = context.Queue()
        last: list[Any] = [self._mode]
        if _takes_semaphore(self._worker):
            last.append(None if limit is None else context.BoundedSemaphore(limit))
        with clear_mpi_env_vars():
            for index, env_fn in enumerate(self._env_fns):
                pipe, child_pipe = context.Pipe()
                build = CloudpickleWrapper(env_fn)
                process = context.Process(
                    target=self._worker,
                    args=(index, build, child_pipe, pipe, memory, self._errors, *last),
                    name=f"{self._name}-worker-{index}",
                    daemon=self._daemon,
                )
                process.start()
                # Otherwise the parent would not see EOF when the process ends.
                child_pipe.close()
                self.workers.append(_Member(index, process, pipe))

    # --- requests -----------------------------------------------------------------------------

    def start(self, name: str, *arguments: Any) -> None:
        """Send one request to every worker."""
        self._send(self.workers, lambda _: (_command(name), arguments))

    def start_each(self, name: str, arguments: Callable[[range], tuple[Any, ...]]) -> None:
        """Send every worker a request; the last argument is a list with the environment's value."""
        command = _command(name)

        def request(index: int) -> tuple[str, Any]:
            *rest, values = arguments(range(index, index + 1))
            return command, (*rest, values[0])

        self._send(self.workers, request)

    def finish(self, deadline: float | None, what: str) -> list[Any]:
        """Collect all pending answers.

        Raises:
            multiprocessing.TimeoutError: The deadline passed.
            WorkerCrashed: A worker died.
            Exception: The exception of the last failed worker.
        """
        results, failures = [], 0
        for member in self.workers:
            if member.pending:
                result, success = self._receive(member, deadline, what)
                results.append(result)
                failures += not success
        if failures:
            raise self._reason(failures)
        return results

    def start_reset(
        self,
        seeds: Sequence[int | None],
        mask: np.ndarray[Any, Any] | None,
        options: dict[str, Any] | None,
    ) -> None:
        """Reset the environments in the mask, all if it is ``None``."""
        self._chosen = [w for w in self.workers if mask is None or mask[w.index]]
        self._send(
            self._chosen, lambda index: ("reset", {"seed": seeds[index], "options": options})
        )

    def finish_reset(self, deadline: float | None, what: str) -> dict[str, Any]:
        """Return the merged infos of a reset."""
        results = self.finish(deadline, what)
        indices = [member.index for member in self._chosen]
        self.terminations[indices] = self.truncations[indices] = False
        self._take_observations(indices, [observation for observation, _ in results])
        return merge_rows(
            [(index, info) for index, (_, info) in zip(indices, results, strict=True)],
            self.num_envs,
        )

    def start_step(self, actions: Any) -> None:
        """Send every environment its action.

        Raises:
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
            ValueError: The number of actions is wrong.
        """
        if self._mode is AutoresetMode.DISABLED:
            over = self.terminations | self.truncations
            if over.any():
                raise episode_over(np.flatnonzero(over).tolist())
        rows = list(iterate(self._spaces.action, actions))
        if len(rows) != self.num_envs:
            raise ValueError(
                f"Expected {self.num_envs} actions, one per environment, got {len(rows)}."
            )
        self._send(self.workers, lambda index: ("step", rows[index]))

    def finish_step(self, deadline: float | None, what: str) -> dict[str, Any]:
        """Return the merged infos of a step; the other results are in :attr:`arrays`."""
        results = self.finish(deadline, what)
        infos = []
        for index, (_, reward, terminated, truncated, info) in enumerate(results):
            self.rewards[index] = reward
            self.terminations[index] = terminated
            self.truncations[index] = truncated
            infos.append((index, info))
        self._take_observations(range(self.num_envs), [result[0] for result in results])
        return merge_rows(infos, self.num_envs)

    def _take_observations(self, indices: Iterable[int], observations: list[Any]) -> None:
        if self._shared:
            return
        for index, observation in zip(indices, observations, strict=True):
            self._rows[index] = observation
        self.observations = concatenate(
            self._spaces.single_observation, self._rows, self.observations
        )

    def restore_observations(self, observations: Any) -> None:
        """Raise :class:`StateError`: custom workers cannot restore states."""
        _command("set_states")

    # --- pipes --------------------------------------------------------------------------------

    def _send(self, members: Iterable[_Member], request: Callable[[int], tuple[str, Any]]) -> None:
        for member in self.workers:
            if member.pending:  # from a call that timed out
                self._receive(member, None, "")
        for member in members:
            try:
                member.pipe.send(request(member.index))
            except (BrokenPipeError, ConnectionResetError) as problem:
                raise self._break(member) from problem
            member.pending = True

    def _receive(self, member: _Member, deadline: float | None, what: str) -> tuple[Any, bool]:
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        try:
            if not member.pipe.poll(left):
                raise multiprocessing.TimeoutError(
                    f"The call to `{what}` has timed out; still running: environment "
                    f"{member.index}. Wait longer, or close(terminate=True)."
                )
            result, success = member.pipe.recv()
        except (EOFError, ConnectionResetError) as problem:
            raise self._break(member) from problem
        member.pending = False
        return result, success

    def _reason(self, failures: int) -> BaseException:
        """Return the exception of the last of ``failures`` failed workers."""
        problem: BaseException = WorkerRaised("A worker failed and did not say why.")
        for _ in range(failures):
            try:
                index, _, value, trace = self._errors.get(timeout=_REASON_SECONDS)
            except queue.Empty:
                break
            problem = value
            problem.add_note(f"Raised in environment {index} of a vector environment.\n{trace}")
        return problem

    def _break(self, member: _Member) -> WorkerCrashed:
        """Stop all workers and return the error for the one that died."""
        member.process.join(_REASON_SECONDS)
        code = member.process.exitcode
        self.broken = WorkerCrashed(
            f"The worker of environment {member.index} ended without an answer, with exit code "
            f"{code}. Run the worker function alone to debug it.",
            worker=member.index,
            env_index=member.index,
            exit_code=code,
        )
        self.shutdown()
        return self.broken

    # --- the end ------------------------------------------------------------------------------

    def close(self, grace: float) -> BaseException | None:
        """Close the environments within ``grace`` seconds, then stop the processes."""
        deadline = time.monotonic() + grace
        if grace > 0 and self.broken is None:
            for member in self.workers:
                with contextlib.suppress(OSError, EOFError, multiprocessing.TimeoutError):
                    if member.pending:
                        self._receive(member, deadline, "close")
                    member.pipe.send(("close", None))
        self.shutdown(max(deadline - time.monotonic(), 0.0))
        return None

    def shutdown(self, grace: float = 0.0) -> None:
        """Stop every process, by force if necessary."""
        if os.getpid() != self._owner:
            return  # a forked child must not stop the workers of its parent
        members, self.workers = self.workers, []
        for member in members:
            member.process.join(grace)
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
            member.process.close()
            member.pipe.close()


def _command(name: str) -> str:
    if name not in _COMMANDS:
        raise StateError(
            "A custom worker cannot save or restore states: its protocol has no command for it. "
            "Build the vector environment without `worker`."
        )
    return _COMMANDS[name]


def _takes_semaphore(worker: Callable[..., None]) -> bool:
    kinds = [parameter.kind for parameter in inspect.signature(worker).parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Parameter.VAR_POSITIONAL in kinds or sum(k in positional for k in kinds) > 7
