"""Everything in this process, one after the other: for debuggers, and for agents in memory."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Self

from ludus.bench.running.engine import Done
from ludus.bench.running.execute import UnitJob
from ludus.errors import InfrastructureFailed

__all__ = ["SerialEngine"]


class SerialEngine:
    """Does a job when it is waited for.

    Nobody can end a call that never returns: time is looked at between an agent's actions only. The
    generators that all code of a process shares are seeded anew by each job.
    """

    slots = 1

    def __init__(self) -> None:
        self._jobs: deque[UnitJob] = deque()

    def submit(self, job: UnitJob) -> None:
        """Keep a job until it is waited for."""
        self._jobs.append(job)

    def wait(self, timeout: float | None = None) -> Done | None:
        """Do the next job, however long it takes."""
        if not self._jobs:
            return None
        job, playing = self._jobs.popleft(), []
        try:
            return Done(job, result=job.execute(lambda: playing.append(True)))
        except InfrastructureFailed as fault:
            return Done(job, fault=str(fault), playing=bool(playing))

    def close(self) -> None:
        """Forget what was not begun."""
        self._jobs.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
