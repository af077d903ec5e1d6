"""Saying how far a run is: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Protocol, Self

from ludus.bench.faults import one_line
from ludus.bench.result import Result

__all__ = ["BarProgress", "LineProgress", "NoProgress", "Progress", "describe_result", "duration"]


class Progress(Protocol):
    """Reports what happens in a run; a context manager around it."""

    def begin(self, total: int, finished: int) -> None:
        """So many units are planned, and so many were finished before."""

    def finished(self, result: Result) -> None:
        """A unit is finished, or given up."""

    def note(self, text: str) -> None:
        """Something else is worth a line."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class NoProgress:
    """Says nothing."""

    def begin(self, total: int, finished: int) -> None:
        """Say nothing."""

    def finished(self, result: Result) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Have nothing to end."""


class LineProgress(NoProgress):
    """Prints a line per unit, with the time that is left at the pace so far.

    Args:
        console: A ``rich`` console.
    """

    _units = "units"

    def __init__(self, console: Any) -> None:
        self._console = console
        self._total = self._before = self._count = 0
        self._started = time.monotonic()

    def begin(self, total: int, finished: int) -> None:
        """Say how much there is to do."""
        self._total, self._before, self._count = total, finished, finished
        self._started = time.monotonic()
        known = f", {finished} finished before" if finished else ""
        self.note(f"{total} {self._units}{known}")

    def finished(self, result: Result) -> None:
        """Print the unit and its outcome."""
        self._count += 1
        done = self._count - self._before
        left = (time.monotonic() - self._started) / done * (self._total - self._count)
        rest = f"; about {duration(left)} left" if self._count < self._total else ""
        self.note(f"[{self._count}/{self._total}] {self._told(result)}{rest}")

    def note(self, text: str) -> None:
        """Print a line as it is."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _told(self, result: Result) -> str:
        return describe_result(result)


class BarProgress(LineProgress):
    """Keeps a bar with the time left; faults get a line above it."""

    def __init__(self, console: Any) -> None:
        super().__init__(console)
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task: Any = None

    def begin(self, total: int, finished: int) -> None:
        """Show the bar."""
        self._task = self._bar.add_task(self._units, total=total, completed=finished)

    def finished(self, result: Result) -> None:
        """Move the bar; tell faults."""
        self._bar.update(self._task, advance=1)
        if result.outcome != "scored":
            self.note(self._told(result))

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()


def describe_result(result: Result) -> str:
    """Return a unit and its outcome in one line."""
    head = f"{result.agent} on {result.env}, seed {result.seed}: "
    if result.outcome == "scored":
        return f"{head}{result.score:g} over {result.episodes} episodes ({result.seconds:.1f} s)"
    counted = result.extra.get("counted")
    worth = "" if counted is None else f", counts as {counted:g}"
    return f"{head}{result.outcome.replace('_', ' ')}{worth}: {one_line(result.reason or '')}"


def duration(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
