"""Jobs in processes of their own, which can be killed when they take too long."""

from __future__ import annotations

import selectors
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from ludus.bench.engines.handle import WorkerHandle
from ludus.bench.faults import one_line
from ludus.bench.result import Result
from ludus.bench.running.engine import Done
from ludus.bench.running.execute import UnitJob
from ludus.errors import BenchError, Error

__all__ = ["ProcessEngine"]

GRACE_SECONDS = 0.5
"""What a worker gets beyond the agent's time, to notice by itself and close its record."""
BUILD_SECONDS = 600.0
"""What starting a worker and making an environment may take."""
_LOOK_EVERY = 0.5
_SPARE = 4
"""How many idle workers are kept for agents whose turn will come again."""


class ProcessEngine:
    """Fresh interpreters, kept for many jobs and replaced when they die or are killed.

    A worker plays for one agent only: an agent's code can change whatever its process holds, the
    environments that a rival would play next included. Ludus's own agents share workers.

    Args:
        workers: How many.
        log: A file that what workers and agents print is added to; without one it is lost.
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _free_worker(self, owner: str) -> WorkerHandle:
        """Return a worker that has played for nobody but ``owner``."""
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
    """Tell whether the agent may have caused what failed, now or in a unit before this one."""
    return worker.playing_since is not None or not worker.is_trusted
