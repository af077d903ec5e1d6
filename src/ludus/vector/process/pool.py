"""The worker processes of a vector environment."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ludus.core.batch_arguments import BatchedSpaces, episode_over
from ludus.core.env import Env
from ludus.core.vector_env import AutoresetMode
from ludus.errors import WorkerCrashed
from ludus.seeding import derive_seed
from ludus.spaces import Space, iterate
from ludus.vector.process.buffer import Arrays, Plan, SharedBuffer, plain_layout
from ludus.vector.process.control import FAILED
from ludus.vector.process.handle import WorkerDied, WorkerHandle, failure_to_exception
from ludus.vector.process.results import Results
from ludus.vector.process.views import keeps_values, select_row, store

__all__ = ["WorkerPool"]

Built = tuple[Space[Any], Space[Any], dict[str, Any], Any]


class WorkerPool:
    """Starts workers, divides the environments among them and merges their results.

    Calls come in pairs: ``start…`` sends requests, ``finish…`` collects the answers. If a worker
    dies, ``finish…`` raises and sets :attr:`broken`, unless ``restart`` is true.
    """

    def __init__(
        self,
        context: Any,
        env_fns: Sequence[Callable[[], Env]],
        *,
        num_workers: int,
        mode: AutoresetMode,
        entropy: int,
        daemon: bool,
        restart: bool,
        name: str,
    ) -> None:
        self._context = context
        self._env_fns = env_fns
        self._mode = mode
        self._entropy = entropy
        self._daemon = daemon
        self._restart = restart
        self._name = name
        self.num_envs = len(env_fns)
        self.broken: WorkerCrashed | None = None
        self._seeds: list[int | None] = [None] * self.num_envs
        self._last_actions: Any = None
        self._restarts = 0
        self._fresh: set[int] = set()
        self._buffer: SharedBuffer | None = None
        self._owner = os.getpid()
        # One more process than workers: the parent.
        self._share_cpu = num_workers + 1 > (os.cpu_count() or 1)
        bounds = [self.num_envs * i // num_workers for i in range(num_workers + 1)]
        self._bounds = list(itertools.pairwise(bounds))
        self.workers: list[WorkerHandle] = []
        try:
            for index in range(num_workers):
                self.workers.append(self._start_worker(index))
        except BaseException:
            self.shutdown()
            raise

    def _start_worker(self, index: int) -> WorkerHandle:
        start, stop = self._bounds[index]
        return WorkerHandle(
            self._context,
            index,
            start,
            self._env_fns[start:stop],
            mode=self._mode,
            entropy=derive_seed(self._entropy, "start", self._restarts),
            share_cpu=self._share_cpu,
            daemon=self._daemon,
            name=self._name,
        )

    # --- set-up -------------------------------------------------------------------------------

    def build(self) -> list[Built]:
        """Wait until every environment is built; return spaces, metadata and render mode."""
        return self.finish(None, "the construction of the environments")

    def attach(self, spaces: BatchedSpaces, *, shared_observations: bool) -> None:
        """Allocate the shared memory and send it to the workers."""
        self._spaces = spaces
        n = self.num_envs
        self._plan = Plan(
            num_envs=n,
            actions=plain_layout(spaces.single_action, n),
            observations=plain_layout(spaces.single_observation, n)
            if shared_observations
            else None,
        )
        self._buffer = SharedBuffer.create(self._plan.nbytes)
        self.arrays: Arrays = self._plan.arrays(self._buffer.memory)
        self.results = Results(self._plan, self.arrays, spaces, self._bounds)
        for worker in self.workers:
            self._attach_worker(worker)
        self.finish(None, "attaching the shared memory")

    def _attach_worker(self, worker: WorkerHandle) -> None:
        spaces = self._spaces
        try:
            worker.request("attach", self._plan, spaces.single_observation, spaces.single_action)
            if self._buffer is not None:
                worker.send_buffer(self._buffer)
        except WorkerDied as problem:
            raise self._break(worker) from problem

    # --- requests that are the same for all ---------------------------------------------------

    def start(self, name: str, *arguments: Any) -> None:
        """Send one request to every worker."""
        self.start_each(name, lambda _: arguments)

    def start_each(self, name: str, arguments: Callable[[range], tuple[Any, ...]]) -> None:
        """Send every worker a request with arguments for its environments."""
        self._drain()
        for worker in self.workers:
            try:
                worker.request(name, *arguments(worker.env_indices))
            except WorkerDied as problem:
                raise self._break(worker) from problem

    def finish(self, deadline: float | None, what: str) -> list[Any]:
        """Collect the answers, one item per environment where workers answer with lists.

        Raises:
            multiprocessing.TimeoutError: The deadline passed.
            WorkerCrashed: A worker died.
            Exception: The first one that an environment raised.
        """
        collected: list[Any] = []
        failure: BaseException | None = None
        for worker in self.workers:
            try:
                if not worker.wait(deadline):
                    raise self._timeout(what)
                answer = worker.receive()
            except WorkerDied as problem:
                raise self._break(worker) from problem
            if worker.control.status == FAILED:
                failure = failure or self._exception(answer)
            elif isinstance(answer, list):
                collected += answer
        if failure is not None:
            raise failure
        return collected

    # --- reset and step -----------------------------------------------------------------------

    def start_reset(
        self,
        seeds: Sequence[int | None],
        mask: np.ndarray[Any, Any] | None,
        options: dict[str, Any] | None,
    ) -> None:
        """Reset the environments in the mask, all if it is ``None``."""
        for index, seed in enumerate(seeds):
            if mask is None or mask[index]:
                self._seeds[index] = seed
        self._last_actions = None

        def arguments(rows: range) -> tuple[Any, ...]:
            chosen = {i - rows.start: seeds[i] for i in rows if mask is None or mask[i]}
            return chosen, options

        self.start_each("reset", arguments)

    def finish_reset(self, deadline: float | None, what: str) -> dict[str, Any]:
        """Return the merged infos of a reset."""
        return self._finish(deadline, what)

    def start_step(self, actions: Any) -> None:
        """Write every environment's action and start the workers.

        Raises:
            EpisodeOver: Autoreset is disabled and a finished environment was not reset.
            ValueError: The actions have the wrong number or shape.
        """
        self._drain()
        if self._mode is AutoresetMode.DISABLED:
            over = self.arrays.terminations | self.arrays.truncations
            if over.any():
                raise episode_over(np.flatnonzero(over).tolist())
        if self._plan.actions is None:
            self._send_actions(actions)
            return
        self._last_actions = self.arrays.actions
        try:
            store(self.arrays.actions, actions)
            exact = keeps_values(self.arrays.actions, actions)
        except (KeyError, TypeError, ValueError) as problem:
            problem.add_note(f"The action space is {self._spaces.action}.")
            raise
        if not exact:
            self._send_actions(actions)
            return
        for worker in self.workers:
            worker.step()

    def _send_actions(self, actions: Any) -> None:
        """Send the actions unchanged through the workers' pipes."""
        rows = list(iterate(self._spaces.action, actions))
        self._check_count(len(rows))
        self._last_actions = rows
        self.start_each("step", lambda block: (rows[block.start : block.stop],))

    def finish_step(self, deadline: float | None, what: str) -> dict[str, Any]:
        """Return the merged infos of a step; the other results are in :attr:`arrays`."""
        return self._finish(deadline, what)

    def _finish(self, deadline: float | None, what: str) -> dict[str, Any]:
        messages: dict[int, Any] = {}
        crashed: list[tuple[WorkerHandle, str]] = []
        failure: BaseException | None = None
        plain = True
        for worker in self.workers:
            try:
                if not worker.wait(deadline):
                    if not self._restart:
                        raise self._timeout(what)
                    worker.process.kill()
                    raise WorkerDied
                status = worker.control.status
                if status:
                    plain = False
                    messages[worker.index] = worker.receive()
            except WorkerDied as problem:
                if not self._restart or worker.index in self._fresh:
                    raise self._break(worker) from problem
                crashed.append((worker, str(self._certificate(worker))))
                continue
            self._fresh.discard(worker.index)
            if status == FAILED:
                failure = failure or self._exception(messages[worker.index])
        if failure is not None:
            raise failure
        if plain and not crashed:
            return {}
        for worker, reason in crashed:
            messages[worker.index] = self._replace(worker, reason)
        return self.results.merge(messages)

    # --- actions ------------------------------------------------------------------------------

    def _check_count(self, count: int) -> None:
        if count != self.num_envs:
            raise ValueError(f"Expected {self.num_envs} actions, one per environment, got {count}.")

    def _action_of(self, index: int) -> Any:
        if self._last_actions is None or index < 0:
            return None
        if isinstance(self._last_actions, list):
            return self._last_actions[index]
        return select_row(self._last_actions, index)

    # --- failures -----------------------------------------------------------------------------

    def _exception(self, failure: Any) -> BaseException:
        index = failure.env_index
        seed = self._seeds[index] if index >= 0 else None
        return failure_to_exception(failure, seed, self._action_of(index))

    def _certificate(self, worker: WorkerHandle) -> WorkerCrashed:
        index = worker.control.env_index
        seed = self._seeds[index] if index >= 0 else None
        return worker.death_certificate(seed, self._action_of(index))

    def _break(self, worker: WorkerHandle) -> WorkerCrashed:
        """Stop all workers and return the error for the one that died."""
        self.broken = self._certificate(worker)
        self.shutdown()
        return self.broken

    def _timeout(self, what: str) -> multiprocessing.TimeoutError:
        running = [
            f"{worker.control.env_index} (seed {self._seeds[worker.control.env_index]}, last "
            f"action {self._action_of(worker.control.env_index)!r})"
            for worker in self.workers
            if worker.pending and worker.control.env_index >= 0
        ]
        return multiprocessing.TimeoutError(
            f"The call to `{what}` has timed out; still running: environment "
            f"{', '.join(running) or 'unknown'}. Wait longer, or close(terminate=True)."
        )

    def _replace(self, worker: WorkerHandle, reason: str) -> dict[str, Any]:
        """Restart a dead worker and truncate its episodes."""
        worker.stop(0.0)
        self._restarts += 1
        fresh = self.workers[worker.index] = self._start_worker(worker.index)
        self._fresh.add(worker.index)
        self.results.forget_columns(worker.index)
        seeds = {
            row: None
            if (seed := self._seeds[fresh.start + row]) is None
            else derive_seed(seed, "restart", self._restarts)
            for row in range(fresh.rows)
        }
        rows = slice(fresh.start, fresh.start + fresh.rows)
        finals = {}
        if self._mode is AutoresetMode.SAME_STEP:
            finals = self.results.last_become_final(worker.index)
        try:
            fresh.wait(None)
            self._check_answer(fresh)
            self._attach_worker(fresh)
            fresh.wait(None)
            self._check_answer(fresh)
            fresh.request("restarted", seeds)
            fresh.wait(None)
            message: dict[str, Any] = self._check_answer(fresh)
        except WorkerDied as problem:
            raise self._break(fresh) from problem
        self.arrays.rewards[rows] = 0.0
        self.arrays.terminations[rows] = False
        self.arrays.truncations[rows] = True
        message["infos"] = self._crash_infos(fresh, reason, dict(message["infos"]))
        message["finals"] = finals
        return message

    def _crash_infos(
        self, worker: WorkerHandle, reason: str, infos: dict[int, dict[str, Any]]
    ) -> list[tuple[int, dict[str, Any]]]:
        rows = []
        for row in range(worker.rows):
            info: dict[str, Any] = {"crashed": reason}
            if self._mode is AutoresetMode.SAME_STEP:
                info = {"final_info": info, **infos.get(row, {})}
            rows.append((row, info))
        return rows

    def _check_answer(self, worker: WorkerHandle) -> Any:
        answer = worker.receive()
        if worker.control.status == FAILED:
            raise self._exception(answer)
        return answer

    # --- the end ------------------------------------------------------------------------------

    def _drain(self) -> None:
        """Wait for the answers of a call that timed out, and discard them."""
        for worker in self.workers:
            if worker.pending:
                try:
                    worker.wait(None)
                    self.results.learn_columns(worker.index, worker.receive())
                except WorkerDied as problem:
                    raise self._break(worker) from problem

    def close(self, grace: float) -> BaseException | None:
        """Close the environments within ``grace`` seconds, then stop the workers.

        Returns:
            The first exception that closing an environment raised.
        """
        deadline = time.monotonic() + grace
        failure: BaseException | None = None
        if grace > 0 and self.broken is None:
            for worker in self.workers:
                try:
                    if worker.pending:
                        if not worker.wait(deadline):
                            continue
                        worker.receive()
                    answer = worker.close(deadline)
                except WorkerDied:
                    continue
                if answer is not None and failure is None:
                    failure = self._exception(answer)
        self.shutdown(max(deadline - time.monotonic(), 0.0))
        return failure

    def shutdown(self, grace: float = 0.0) -> None:
        """Stop every worker, by force if necessary, and release the shared memory."""
        if os.getpid() != self._owner:
            return  # a forked child must not stop the workers of its parent
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.stop(grace)
        if self._buffer is not None:
            self._buffer.close()
            self._buffer = None
