"""Engines, which run jobs: their interface, and the one that runs them in this process."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from ludus.bench.result import Result
from ludus.bench.running.execute import UnitJob
from ludus.errors import BenchError, InfrastructureFailed

__all__ = ["ENGINES", "Done", "Engine", "SerialEngine", "open_engine"]


@dataclass(frozen=True, slots=True)
class Done:
    """A finished job: with a result, or with the reason why there is none.

    Attributes:
        job: The job.
        result: Scored, or the agent's fault.
        fault: What failed, if there is no result; the job may be tried again.
        playing: Whether the agent was playing when it failed, and so may have caused it.
    """

    job: UnitJob
    result: Result | None = None
    fault: str | None = None
    playing: bool = False


class Engine(Protocol):
    """Runs jobs; a context manager that ends whatever is still running.

    A job comes back exactly once. An engine that can enforce it ends a job that runs over its
    ``max_seconds``, and the result is the agent's fault; the death of a worker is a fault with the
    signal as the reason.
    """

    slots: int
    """How many jobs it takes at a time."""

    def submit(self, job: UnitJob) -> None:
        """Take a job; at most ``slots`` may be under way."""

    def wait(self, timeout: float | None = None) -> Done | None:
        """Return the next job to come back; ``None`` if none does within ``timeout`` seconds."""

    def close(self) -> None:
        """End all that is running, and leave no process behind."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class SerialEngine:
    """Runs a job when it is waited for.

    A call that never returns cannot be ended: time is checked between an agent's actions only. Each
    job seeds the global random generators again.
    """

    slots = 1

    def __init__(self) -> None:
        self._jobs: deque[UnitJob] = deque()

    def submit(self, job: UnitJob) -> None:
        """Keep a job until it is waited for."""
        self._jobs.append(job)

    def wait(self, timeout: float | None = None) -> Done | None:
        """Run the next job, however long it takes."""
        if not self._jobs:
            return None
        job, playing = self._jobs.popleft(), []
        try:
            return Done(job, result=job.execute(lambda: playing.append(True)))
        except InfrastructureFailed as fault:
            return Done(job, fault=str(fault), playing=bool(playing))

    def close(self) -> None:
        """Drop the jobs that have not started."""
        self._jobs.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


ENGINES = ("processes", "serial")


def open_engine(name: str, *, workers: int | None = None, log: Path | None = None) -> Engine:
    """Return an engine, ``processes`` or ``serial``; by default with one worker per processor.

    Raises:
        BenchError: There is no such engine, or it does not take so many workers.
    """
    if workers is not None and workers < 1:
        raise BenchError(f"{workers} workers can do nothing; give at least 1.")
    if name == "serial":
        if workers not in (None, 1):
            raise BenchError("The serial engine has one worker; choose --engine processes.")
        return SerialEngine()
    if name == "processes":
        from ludus.bench.engines.processes import ProcessEngine

        return ProcessEngine(workers or len(os.sched_getaffinity(0)), log=log)
    raise BenchError(f"There is no engine {name!r}; choose one of {', '.join(ENGINES)}.")
