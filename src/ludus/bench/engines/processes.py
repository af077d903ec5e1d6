"""Runs jobs in worker processes, which can be killed when they take too long."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from ludus.bench.engines import Done
from ludus.bench.engines.worker import LENGTH
from ludus.bench.faults import one_line
from ludus.bench.result import Result
from ludus.bench.running.execute import UnitJob
from ludus.errors import BenchError, Error
from ludus.foreign_files import open_to_append

__all__ = ["ProcessEngine", "WorkerHandle"]


_START = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from ludus.bench.engines.worker import main; sys.exit(main(sys.argv[1:]))"
)
_MOST_BYTES = 2**30
_CHUNK = 1 << 20


class WorkerHandle:
    """One worker process: starts it, sends it jobs, takes its answers, and ends it.

    Attributes:
        owner: The agent whose code it runs.
        is_trusted: Whether it has run no code but Ludus's own.
        answers: The descriptor that its answers come from.
        busy_since: When it got its job.
        playing_since: When the agent's time began, if it has.
        answer: Its answer, if there is one.
    """

    def __init__(self, log: Path | None, owner: str) -> None:
        self.owner, self.is_trusted = owner, True
        jobs, self._jobs = os.pipe()
        self.answers, answers = os.pipe()
        self._content = os.memfd_create("ludus-job")
        # Not -m: that would load modules from the working directory first, and an agent can put
        # a json.py there.
        words = [sys.executable, "-P", "-c", _START, str(Path(__file__).parents[3])]
        words += map(str, (jobs, answers, self._content, os.getpid()))
        # The same text gives the same order of sets in every worker, and one thread each is
        # what as many workers as processors can use.
        settings = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONHASHSEED": "0"}
        with contextlib.ExitStack() as opened:
            output: Any = subprocess.DEVNULL
            if log is not None:
                output = opened.enter_context(os.fdopen(open_to_append(log), "ab"))
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=settings,
                pass_fds=(jobs, answers, self._content),
                # Its own group: killing it kills what it started, and Ctrl-C does not reach it.
                start_new_session=True,
            )
        os.close(jobs)
        os.close(answers)
        os.set_blocking(self.answers, False)
        os.set_blocking(self._jobs, False)
        self._received = bytearray()
        self._is_open, self._hung_up = True, False
        self.busy_since = time.monotonic()
        self.playing_since: float | None = None
        self.answer: dict[str, Any] | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, job: Any) -> None:
        """Send a job; a worker that is dead or stopped is noticed later.

        The job is in a file and only its length goes through the pipe: the agent can stop the
        process, and writing more than a pipe holds would wait for it forever.
        """
        from cloudpickle import dumps

        self.busy_since, self.playing_since, self.answer = time.monotonic(), None, None
        # The path first: what the job is made of may be found nowhere else.
        data = dumps((list(sys.path), dumps(job)))
        os.ftruncate(self._content, 0)
        done = 0
        while done < len(data):
            done += os.pwrite(self._content, memoryview(data)[done:], done)
        try:
            os.write(self._jobs, LENGTH.pack(len(data)))
        except (BrokenPipeError, BlockingIOError):
            self._hung_up = True

    def receive(self) -> None:
        """Read what has arrived."""
        while True:
            try:
                chunk = os.read(self.answers, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                self._hung_up = True
                break
            self._received += chunk
            if len(self._received) > _MOST_BYTES:
                self._received.clear()
                self.answer = {"fault": "the worker wrote more than a result is long"}
                break
        *lines, rest = self._received.split(b"\n")
        self._received = bytearray(rest)
        for line in lines:
            self._read(bytes(line))

    def take(self) -> dict[str, Any]:
        """Return the answer, and clear it for the next job."""
        answer, self.answer = self.answer or {}, None
        return answer

    def has_ended(self) -> bool:
        """Tell whether the process has ended, or has closed its pipe."""
        # Not waited for yet: until then no other process gets its number, and its group can
        # be killed by it.
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        running = self._is_open and os.waitid(os.P_PID, self._process.pid, flags) is None
        if running and not self._hung_up:
            return False
        self.receive()
        return self.answer is None

    def was_killed(self) -> bool:
        """Tell whether a signal ended the process; call it after :meth:`kill`."""
        return (self._process.returncode or 0) < 0

    def ending(self) -> str:
        """Return how the process ended; call it after :meth:`kill`."""
        code = self._process.returncode
        if code is None or code >= 0:
            return f"ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"was killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")

    def kill(self) -> None:
        """Kill the process and what it started, and wait for its end."""
        if not self._is_open:
            return
        self._is_open = False
        # Its group may live on without it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for descriptor in (self._jobs, self.answers, self._content):
            os.close(descriptor)

    def _read(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            message = {"fault": "the worker wrote something that is no answer"}
        if "playing" in message:
            # Only the first time: the agent may write this too, to prolong its time.
            self.playing_since = self.playing_since or time.monotonic()
            self.is_trusted = self.is_trusted and not self.owner
        else:
            self.answer = message


GRACE_SECONDS = 0.5
"""What a worker gets beyond the agent's time, to notice by itself and close its record."""
BUILD_SECONDS = 600.0
"""What starting a worker and making an environment may take."""
_LOOK_EVERY = 0.5
_SPARE = 4
"""How many idle workers are kept for agents whose turn will come again."""


class ProcessEngine:
    """Fresh interpreters, kept for many jobs and replaced when they die or are killed.

    A worker runs the code of one agent only: an agent can change whatever its process holds, also
    the environments that another agent would play next. Ludus's own agents share workers. What
    workers and agents print is appended to ``log``; without one it is lost.
    """

    def __init__(self, workers: int, *, log: Path | None = None) -> None:
        self.slots = workers
        self._log = log
        self._idle: list[WorkerHandle] = []
        self._busy: dict[WorkerHandle, UnitJob] = {}
        self._selector = selectors.DefaultSelector()

    def submit(self, job: UnitJob) -> None:
        """Give a job to a worker.

        Raises:
            BenchError: All are busy.
        """
        if len(self._busy) >= self.slots:
            raise BenchError(f"All {self.slots} workers are busy; wait() first.")
        worker = self._free_worker(job.owner)
        self._busy[worker] = job
        # Unpickling an agent runs its code before it plays.
        worker.is_trusted = worker.is_trusted and job.unit.agent.by_name
        worker.send(job)

    def wait(self, timeout: float | None = None) -> Done | None:
        """Return the next job to come back, having killed those that took too long."""
        end = None if timeout is None else time.monotonic() + timeout
        while self._busy:
            pause = _LOOK_EVERY if end is None else min(_LOOK_EVERY, end - time.monotonic())
            for key, _ in self._selector.select(max(0.0, min(pause, self._until_deadline()))):
                key.data.receive()
            for worker in list(self._busy):
                done = self._look_at(worker)
                if done is not None:
                    return done
            if end is not None and time.monotonic() >= end:
                return None
        return None

    def close(self) -> None:
        """Kill all workers and what they started."""
        for worker in [*self._busy, *self._idle]:
            worker.kill()
        self._busy.clear()
        self._idle.clear()
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _free_worker(self, owner: str) -> WorkerHandle:
        """Return a worker that has run the code of no agent but ``owner``."""
        for worker in list(self._idle):
            if worker.has_ended():
                self._drop(worker)
        for worker in self._idle:
            if worker.owner == owner:
                self._idle.remove(worker)
                return worker
        while len(self._idle) >= _SPARE:
            self._drop(self._idle[0])
        worker = WorkerHandle(self._log, owner)
        self._selector.register(worker.answers, selectors.EVENT_READ, worker)
        return worker

    def _drop(self, worker: WorkerHandle) -> None:
        self._idle.remove(worker)
        self._selector.unregister(worker.answers)
        worker.kill()

    def _until_deadline(self) -> float:
        now = time.monotonic()
        return min(self._deadline(worker) - now for worker in self._busy)

    def _deadline(self, worker: WorkerHandle) -> float:
        limit = self._busy[worker].max_seconds
        if worker.playing_since is None:
            return worker.busy_since + BUILD_SECONDS
        return float("inf") if limit is None else worker.playing_since + limit + GRACE_SECONDS

    def _look_at(self, worker: WorkerHandle) -> Done | None:
        """Return the worker's job if it is done, dead or too late."""
        job = self._busy[worker]
        if worker.answer is not None:
            answer = worker.take()
            # What failed may have left the process in any state.
            ends = job.ends_worker or "fault" in answer
            (self._retire if ends else self._release)(worker)
            return self._answered(job, answer, playing=_is_suspect(worker))
        if worker.has_ended():
            self._retire(worker)
            return self._died(job, worker)
        if time.monotonic() > self._deadline(worker):
            self._retire(worker)
            return self._too_late(job, worker)
        return None

    def _answered(self, job: UnitJob, answer: dict[str, object], *, playing: bool) -> Done:
        if "fault" in answer:
            return Done(job, fault=str(answer["fault"]), playing=playing)
        try:
            result = Result.from_dict(answer["result"])  # type: ignore[arg-type]
        except (KeyError, ValueError, RecursionError) as problem:
            fault = f"the worker's answer cannot be read: {one_line(problem)}"
            return Done(job, fault=fault, playing=playing)
        if not job.accepts(result):
            return Done(job, fault="the worker answered for another unit", playing=playing)
        return Done(job, result=result)

    def _died(self, job: UnitJob, worker: WorkerHandle) -> Done:
        how = worker.ending()
        if worker.playing_since is None or worker.was_killed():
            return Done(job, fault=f"the worker {how}", playing=_is_suspect(worker))
        # No environment or recorder ends the process; only the agent's code is left.
        return self._agents_fault(job, worker, f"ended its process: it {how}")

    def _too_late(self, job: UnitJob, worker: WorkerHandle) -> Done:
        if worker.playing_since is None:
            fault = f"{job.unit.env} was not made within {BUILD_SECONDS:g} s"
            return Done(job, fault=fault, playing=_is_suspect(worker))
        limit = job.max_seconds
        return self._agents_fault(job, worker, f"exceeded its time of {limit:g} s")

    def _agents_fault(self, job: UnitJob, worker: WorkerHandle, reason: str) -> Done:
        try:
            return Done(job, result=job.settle(reason, time.monotonic() - worker.busy_since))
        except (Error, OSError) as problem:
            fault = f"{reason}; its record cannot be closed: {one_line(problem)}"
            return Done(job, fault=fault, playing=True)

    def _release(self, worker: WorkerHandle) -> None:
        del self._busy[worker]
        self._idle.append(worker)

    def _retire(self, worker: WorkerHandle) -> None:
        del self._busy[worker]
        self._selector.unregister(worker.answers)
        worker.kill()


def _is_suspect(worker: WorkerHandle) -> bool:
    """Tell whether the agent may have caused a failure, now or in an earlier unit."""
    return worker.playing_since is not None or not worker.is_trusted
