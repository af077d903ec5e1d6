"""The code of a worker process."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import os
import pickle
import random
import select
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from ludus.core.env import Env
from ludus.core.vector_env import AutoresetMode
from ludus.seeding import derive_seed
from ludus.spaces import Space
from ludus.vector.process.block import Block, copied_actions, row_writer
from ludus.vector.process.buffer import Arrays, Plan, SharedBuffer
from ludus.vector.process.control import CLOSE, COLUMNS, FAILED, NOTHING, PIPE, STEP, Control
from ludus.vector.process.info_columns import ColumnWriter
from ludus.vector.process.signalling import Signal
from ludus.vector.process.views import holds_exactly, select_rows

__all__ = ["Assignment", "Failure", "run_worker"]

_NOT_CALLABLE = ("reset", "step", "close")


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that an environment raised in a worker."""

    env_index: int
    type_name: str
    message: str
    traceback: str
    pickled: bytes
    """The exception itself, empty if it cannot be pickled."""


@dataclass(slots=True)
class Assignment:
    """The arguments of a worker."""

    worker: int
    start: int
    env_fns: Any
    autoreset_mode: AutoresetMode
    parent_pid: int
    entropy: int
    go: Signal
    done: Signal
    pipe: Connection
    fault_pipe: Connection
    control: Control


def run_worker(job: Assignment) -> None:
    """Serve commands until the close command, or until the parent has ended."""
    # Ctrl-C reaches the whole process group; the parent stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable(file=job.fault_pipe.fileno(), all_threads=False)
    threading.Thread(target=_die_with, args=(job.parent_pid,), daemon=True).start()
    _seed_globals(job)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _Worker(job).serve()


def _die_with(parent_pid: int) -> None:
    """Kill this process when the parent has ended."""
    try:
        pidfd = os.pidfd_open(parent_pid)
    except ProcessLookupError:
        pass
    except (AttributeError, OSError):
        parent = parent_process()
        if parent is not None:
            parent.join()
    else:
        select.select([pidfd], [], [])
    os.kill(os.getpid(), signal.SIGKILL)


def _seed_globals(job: Assignment) -> None:
    """Seed the global generators differently in each worker; forked workers have equal ones."""
    random.seed(derive_seed(job.entropy, "worker", job.worker, "random"))
    np.random.seed(derive_seed(job.entropy, "worker", job.worker, "numpy") % 2**32)  # noqa: NPY002


class _Worker:
    def __init__(self, job: Assignment) -> None:
        self._job = job
        self._block: Block | None = None
        self._buffer: SharedBuffer | None = None
        self._sent_observations: dict[int, Any] = {}
        self._sent_finals: dict[int, Any] = {}
        self._handlers: dict[str, Callable[..., Any]] = {
            "attach": self._attach,
            "reset": self._reset,
            "restarted": self._restarted,
            "step": self._step_with,
            "call": self._call,
            "set_attr": self._set_attr,
            "get_states": self._get_states,
            "set_states": self._set_states,
        }

    def serve(self) -> None:
        """Build the environments, then serve commands until closed."""
        job = self._job
        self._answer(self._build)
        while True:
            while not job.go.wait(60.0):
                pass
            command = job.control.command
            if command == STEP:
                self._hot_step()
            elif command == CLOSE:
                self._answer(self._close)
                return
            else:
                name, arguments = job.pipe.recv()
                self._answer(functools.partial(self._handlers[name], *arguments))

    def _answer(self, action: Callable[[], Any]) -> None:
        """Call a function and send its result, or its failure, through the pipe."""
        try:
            message, status = pickle.dumps(action(), protocol=5), PIPE
        except Exception as problem:
            message, status = pickle.dumps(self._failure(problem), protocol=5), FAILED
        except BaseException as problem:
            self._leave(problem)
            raise
        self._say(status, message)

    def _say(self, status: int, message: bytes | None = None) -> None:
        # The status is set first, so that the parent reads before a large message fills the pipe.
        job = self._job
        job.control.status = status
        job.done.send()
        if message is not None:
            job.pipe.send_bytes(message)

    def _failure(self, problem: BaseException) -> Failure:
        try:
            pickled = pickle.dumps(problem)
            pickle.loads(pickled)  # noqa: S301 - our own bytes; some exceptions only fail here
        except Exception:  # pickling an exception of the environment may raise anything
            pickled = b""
        return Failure(
            env_index=self._job.control.env_index,
            type_name=type(problem).__name__,
            message=str(problem),
            traceback="".join(traceback.format_exception(problem)),
            pickled=pickled,
        )

    def _leave(self, problem: BaseException) -> None:
        """Report the reason to the parent before SystemExit or the like ends this process."""
        text = "".join(traceback.format_exception(problem))
        with contextlib.suppress(OSError):
            os.write(self._job.fault_pipe.fileno(), text.encode()[:60_000])

    def _working_on(self, index: int) -> None:
        self._job.control.env_index = index

    def _build(self) -> list[tuple[Space[Any], Space[Any], dict[str, Any], str | None]]:
        job = self._job
        env_fns: list[Callable[[], Env]] = job.env_fns()
        self._block = Block(env_fns, job.start, job.autoreset_mode, job.control.working_on)
        self._working_on(-1)
        return [
            (env.observation_space, env.action_space, dict(env.metadata), env.render_mode)
            for env in self._block.envs
        ]

    def _attach(self, plan: Plan, observation_space: Space[Any], action_space: Space[Any]) -> None:
        """Map the shared memory and pass its rows to the block."""
        block = self._require_block()
        self._buffer = SharedBuffer.receive(self._job.pipe, plan.nbytes)
        arrays: Arrays = plan.arrays(self._buffer.memory)
        self._buffer.close()
        rows = slice(block.start, block.start + len(block.envs))
        self._action_space = action_space
        self._actions = select_rows(arrays.actions, rows)
        self._columns = ColumnWriter(arrays.info_bytes[rows], len(block.envs))
        if plan.observations is None:
            write = self._sent_observations.__setitem__
            write_final = self._sent_finals.__setitem__
        else:
            write = row_writer(observation_space, select_rows(arrays.observations, rows))
            write_final = self._final_writer(
                observation_space, select_rows(arrays.final_observations, rows)
            )
        block.attach(
            arrays.rewards[rows],
            arrays.terminations[rows],
            arrays.truncations[rows],
            write,
            write_final,
        )

    def _final_writer(self, space: Space[Any], views: Any) -> Callable[[int, Any], None]:
        """Return a function that stores an episode's last observation without changing its type."""
        write = row_writer(space, views)

        def keep(row: int, observation: Any) -> None:
            write(row, observation)
            if not holds_exactly(views, observation):
                self._sent_finals[row] = observation

        return keep

    def _hot_step(self) -> None:
        """Step with the actions in shared memory."""
        block = self._require_block()
        try:
            actions = copied_actions(self._action_space, self._actions)
            infos = block.step(actions)
        except Exception as problem:
            self._say(FAILED, pickle.dumps(self._failure(problem), protocol=5))
            return
        except BaseException as problem:
            self._leave(problem)
            raise
        if self._sent_observations or self._sent_finals:
            self._say(PIPE, pickle.dumps(self._step_message(infos), protocol=5))
        elif not infos:
            self._say(NOTHING)
        elif self._store(infos):
            if self._columns.new:
                self._say(PIPE, pickle.dumps(self._step_message(None), protocol=5))
            else:
                self._say(COLUMNS)
        else:
            self._say(PIPE, pickle.dumps(self._step_message(infos), protocol=5))

    def _store(self, infos: list[tuple[int, dict[str, Any]]]) -> bool:
        self._columns.clear()
        if all(self._columns.write(row, info) for row, info in infos):
            return True
        self._columns.clear()
        return False

    def _step_message(self, infos: list[tuple[int, dict[str, Any]]] | None) -> dict[str, Any]:
        """Return a step's results outside of the shared arrays; ``None``: infos are in columns."""
        message = {
            "columns": self._columns.new,
            "infos": infos,
            "observations": dict(self._sent_observations),
            "finals": dict(self._sent_finals),
        }
        self._columns.new = []
        self._sent_observations.clear()
        self._sent_finals.clear()
        return message

    def _step_with(self, actions: list[Any]) -> dict[str, Any]:
        """Step with actions from the pipe."""
        return self._step_message(self._require_block().step(actions))

    def _reset(
        self, seeds: dict[int, int | None], options: dict[str, Any] | None
    ) -> dict[str, Any]:
        block = self._require_block()
        infos = [(row, block.reset(row, seed, options)) for row, seed in seeds.items()]
        self._working_on(-1)
        return self._step_message([(row, info) for row, info in infos if info])

    def _restarted(self, seeds: dict[int, int | None]) -> dict[str, Any]:
        """Seed the environments that replace a dead worker's, and mark their episodes as over.

        In same-step mode they are reset; otherwise the last observations stay in shared memory.
        """
        block = self._require_block()
        if block.mode is AutoresetMode.SAME_STEP:
            return self._reset(seeds, None)
        for row, seed in seeds.items():
            self._working_on(block.start + row)
            block.envs[row].reset(seed=seed)
        self._working_on(-1)
        block.finish_all()
        return self._step_message([])

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if name in _NOT_CALLABLE:
            raise ValueError(
                f"Trying to call function `{name}` with `call`, use `{name}` directly instead."
            )
        results = []
        block = self._require_block()
        for row, env in enumerate(block.envs):
            self._working_on(block.start + row)
            attribute = env.get_wrapper_attr(name)
            results.append(attribute(*args, **kwargs) if callable(attribute) else attribute)
        self._working_on(-1)
        return results

    def _set_attr(self, name: str, values: list[Any]) -> None:
        for env, value in zip(self._require_block().envs, values, strict=True):
            env.set_wrapper_attr(name, value)

    def _get_states(self) -> list[dict[str, Any]]:
        return self._require_block().get_states()

    def _set_states(self, states: list[dict[str, Any]]) -> None:
        self._require_block().set_states(states)

    def _close(self) -> None:
        if self._block is not None:
            self._block.close()

    def _require_block(self) -> Block:
        if self._block is None:
            raise RuntimeError("The environments of this worker could not be built.")
        return self._block
