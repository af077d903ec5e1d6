"""Runs jobs in this process, one after the other: for debuggers, and for agents in memory."""

from __future__ import annotations

from collections import deque
from typing import Self

from ludus.bench.running.engine import Done
from ludus.bench.running.execute import UnitJob
from ludus.errors import InfrastructureFailed

__all__ = ["SerialEngine"]


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
