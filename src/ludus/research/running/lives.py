"""What an episode has used in abandoned records.

An episode that cannot be resumed is restarted in a fresh sandbox. Its used steps, seconds, money
and validations still count: an agent that causes a fault gains no second budget. Each start is a
*life* of the episode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ludus.record import read_run
from ludus.record.format.event import Event

if TYPE_CHECKING:
    from ludus.research.running.story import Story

__all__ = ["ABANDONED", "Used", "abandoned_records", "used_before", "used_in"]

ABANDONED = "abandoned"
"""The folder of records that could not be resumed."""


@dataclass(frozen=True, slots=True)
class Used:
    """What earlier lives of an episode have used.

    Attributes:
        lives: How many there were.
        steps: Actions that were decided on, whether or not their step was recorded.
        seconds: Of the episode's time.
        cost: What the agent has spent.
        validations: Completed ones.
        validation_faults: Those that failed because of the infrastructure.
    """

    lives: int = 0
    steps: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    validations: int = 0
    validation_faults: int = 0

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Self:
        """Return what :meth:`plain` returned; the data need not be trusted.

        Raises:
            TypeError: There are other fields, or other types.
            ValueError: A number is negative or not finite.
        """
        made = cls(**data)
        for name, value in made.plain().items():
            expected = float if name in ("seconds", "cost") else int
            if type(value) is not expected:
                raise TypeError(f"{name} is {value!r:.40}")
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value!r:.40}")
        return made

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def used_in(story: Story, events: Iterable[Event]) -> Used:
    """Return what an episode has used at the end of a life, earlier ones included.

    A decision whose step is not recorded counts as a step: it may be what ended the life.
    """
    last = story.steps[-1] if story.steps else {}
    decided, before = story.decided or {}, story.earlier
    return Used(
        lives=before.lives + 1,
        steps=before.steps + sum("action" in one for one in (*story.steps, decided)),
        seconds=float(last.get("spent", before.seconds)) + _pending(events, len(story.steps)),
        cost=float(last.get("cost", before.cost)) + float(decided.get("cost", 0.0)),
        validations=before.validations + len(story.validations),
        validation_faults=before.validation_faults + story.validation_faults,
    )


def abandoned_records(folder: str | Path, unit: str) -> list[Path]:
    """Return the abandoned records of a unit in a run's folder, in their order."""
    found: list[Path] = []
    while (path := Path(folder, ABANDONED, f"{unit}-{len(found) + 1}")).exists():
        found.append(path)
    return found


def used_before(folder: str | Path, unit: str) -> Used:
    """Return what the abandoned lives of a unit have used.

    Raises:
        RecordError: The record of one is damaged.
    """
    from ludus.research.running.story import tell

    paths = abandoned_records(folder, unit)
    if not paths:
        return Used()
    events = list(read_run(paths[-1]).events)
    return used_in(tell(events), events)


def _pending(events: Iterable[Event], number: int) -> float:
    """Return the seconds from a decision without a step to the last event before a resumption."""
    since = until = None
    for event in events:
        if event.kind == "act" and event.data.get("n") == number:
            since = event.time
        if since is not None:
            if event.kind == "resume":
                break
            until = event.time
    if since is None or until is None:
        return 0.0
    passed = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return max(0.0, passed.total_seconds())
