"""The interface between the runner and an engine: local, in processes, or on other machines."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from ludus.bench.result import Result
from ludus.bench.running.execute import UnitJob

__all__ = ["Done", "Engine"]


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
