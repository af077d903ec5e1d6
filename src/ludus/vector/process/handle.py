"""The parent's handle of one worker process: start, requests, answers and crash reports."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from ludus.core.env import Env
from ludus.core.vector_env import AutoresetMode
from ludus.errors import WorkerCrashed, WorkerRaised
from ludus.vector.process.buffer import SharedBuffer
from ludus.vector.process.control import CLOSE, FAILED, PIPE, REQUEST, STEP, Control
from ludus.vector.process.signalling import Signal
from ludus.vector.process.worker import Assignment, Failure, run_worker
from ludus.vector.utils.misc import CloudpickleWrapper, clear_mpi_env_vars

__all__ = ["WorkerDied", "WorkerHandle"]

LIVENESS_SECONDS = 0.1
"""How long to wait between checks whether the worker is alive."""


class WorkerDied(Exception):
    """The worker process has ended."""


class WorkerHandle:
    """One worker process and the channels to it."""

    def __init__(
        self,
        context: Any,
        index: int,
        start: int,
        env_fns: Sequence[Callable[[], Env]],
        *,
        mode: AutoresetMode,
        entropy: int,
        share_cpu: bool,
        daemon: bool,
        name: str,
    ) -> None:
        self.index = index
        self.start = start
        self.rows = len(env_fns)
        self.control = Control(context)
        self.pending = False
        self.pipe, child_pipe = context.Pipe()
        self._fault_pipe, child_fault_pipe = context.Pipe(duplex=False)
        self._go = Signal(context, share_cpu=share_cpu)
        self._done = Signal(context, share_cpu=share_cpu)
        job = Assignment(
            worker=index,
            start=start,
            env_fns=CloudpickleWrapper(lambda: list(env_fns)),
            autoreset_mode=mode,
            parent_pid=os.getpid(),
            entropy=entropy,
            go=self._go,
            done=self._done,
            pipe=child_pipe,
            fault_pipe=child_fault_pipe,
            control=self.control,
        )
        self.process = context.Process(
            target=run_worker, args=(job,), name=f"{name}-worker-{index}", daemon=daemon
        )
        with clear_mpi_env_vars():
            self.process.start()
        child_pipe.close()
        child_fault_pipe.close()
        self.pending = True  # the worker sends the spaces without a request

    @property
    def env_indices(self) -> range:
        """The environments this worker owns."""
        return range(self.start, self.start + self.rows)

    def step(self) -> None:
        """Make the worker step its block with the actions in shared memory."""
        self.control.command = STEP
        self.pending = True
        self._go.send()

    def request(self, name: str, *arguments: Any) -> None:
        """Send a request; :meth:`wait` waits for the answer."""
        message = pickle.dumps((name, arguments), protocol=5)
        self.control.command = REQUEST
        self.pending = True
        self._go.send()
        try:
            self.pipe.send_bytes(message)
        except (BrokenPipeError, ConnectionResetError) as problem:
            raise WorkerDied from problem

    def send_buffer(self, buffer: SharedBuffer) -> None:
        """Send the shared memory, after the ``attach`` request."""
        try:
            buffer.send(self.pipe, self.process.pid or 0)
        except (BrokenPipeError, ConnectionResetError) as problem:
            raise WorkerDied from problem

    def wait(self, deadline: float | None) -> bool:
        """Wait for the worker's answer; return ``False`` if the deadline passed.

        Raises:
            WorkerDied: The worker ended without an answer.
        """
        while True:
            limit = LIVENESS_SECONDS
            if deadline is not None:
                limit = min(limit, max(deadline - time.monotonic(), 0.0))
            if self._done.wait(limit):
                self.pending = False
                return True
            if not self.process.is_alive():
                if self._done.wait(0.0):  # it answered before it ended
                    self.pending = False
                    return True
                raise WorkerDied
            if deadline is not None and time.monotonic() >= deadline:
                return False

    def receive(self) -> Any:
        """Return the message of a PIPE or FAILED answer, ``None`` for any other.

        Raises:
            WorkerDied: The worker died while sending.
        """
        if self.control.status not in (PIPE, FAILED):
            return None
        try:
            return pickle.loads(self.pipe.recv_bytes())  # noqa: S301 - written by our own child
        except (EOFError, ConnectionResetError) as problem:
            raise WorkerDied from problem

    def close(self, deadline: float | None) -> Any:
        """Make the worker close its environments; return its :class:`Failure` if that failed."""
        if not self.process.is_alive():
            return None
        self.control.command = CLOSE
        self._go.send()
        with contextlib.suppress(WorkerDied):
            if self.wait(deadline) and self.control.status == FAILED:
                return self.receive()
        return None

    def stop(self, grace: float) -> None:
        """Stop the process, by force if necessary, and close the pipes."""
        self.process.join(grace)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(0.5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()
        self.pipe.close()
        self._fault_pipe.close()

    def death_certificate(self, seed: int | None, action: Any) -> WorkerCrashed:
        """Return the error that reports how the worker died and which environment was running."""
        self.process.join(5.0)
        exit_code = self.process.exitcode
        env_index = self.control.env_index
        trace = self._fault_text()
        where = f"environments {self.start}–{self.start + self.rows - 1}"
        if env_index >= 0:
            where = f"environment {env_index} (seed {seed}, last action {action!r})"
        trace = f"\nTraceback in the worker:\n{trace}" if trace else ""
        return WorkerCrashed(
            f"Worker {self.index} of the vector environment died ({_describe(exit_code)}) while "
            f"running {where}. Run that environment alone with the same seed and actions to debug "
            f"it; on_crash='restart' turns such a crash into a truncated episode.{trace}",
            worker=self.index,
            env_index=env_index if env_index >= 0 else None,
            seed=seed,
            last_action=action,
            exit_code=exit_code,
        )

    def _fault_text(self) -> str:
        chunks = []
        with contextlib.suppress(OSError, EOFError):
            os.set_blocking(self._fault_pipe.fileno(), False)
            while chunk := os.read(self._fault_pipe.fileno(), 65536):
                chunks.append(chunk)
        return b"".join(chunks).decode(errors="replace").strip()


def _describe(exit_code: int | None) -> str:
    if exit_code is None:
        return "still running"
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"signal {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"signal {-exit_code}"


def failure_to_exception(failure: Failure, seed: int | None, action: Any) -> BaseException:
    """Return the environment's exception, with a note that names the environment.

    An exception that cannot be pickled becomes :class:`WorkerRaised`.
    """
    index = failure.env_index
    where = "" if index < 0 else f" in environment {index} (seed {seed}, last action {action!r})"
    note = f"Raised{where} of a vector environment.\n{failure.traceback}"
    if failure.pickled:
        problem: BaseException = pickle.loads(failure.pickled)  # noqa: S301 - our own child's
        problem.add_note(note)
        return problem
    return WorkerRaised(
        f"{failure.type_name}: {failure.message}\n{note}",
        env_index=index if index >= 0 else None,
        seed=seed,
        last_action=action,
        remote_traceback=failure.traceback,
    )
