"""An episode as a list of steps: what pages need, read from a record piece by piece."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

__all__ = [
    "ListedTrajectory",
    "State",
    "Step",
    "Subject",
    "Trajectory",
    "count_of",
    "number_of",
    "seconds_between",
    "text_of",
]

State: TypeAlias = Literal["running", "complete", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One decision of an agent and what came of it; ``None`` is what is not known.

    Attributes:
        n: Its number, from 0.
        hash: Of its event; a link with another one leads into a part that a resumption has cut.
        time: When it ended.
        thought: What the agent thought.
        tool: The tool that was called; empty for a line of the shell.
        action: The line, or the arguments of the call.
        stop: Why the agent stopped, where that is its decision.
        output: What came of it, as far as the event has it.
        tail: The end of an output of which ``output`` is the beginning.
        characters: Length of the output that the agent got.
        output_file: The file of the record that has the whole output.
        exit_code: Of the command.
        seconds: What the command took.
        thinking: Seconds between the step before and the decision.
        spent: Seconds of the episode until its end.
        cost: Money for the decision.
        total_cost: Money until its end.
        tokens: Of the calls of the model: ``prompt``, ``completion``, ``cached``.
        calls: Calls of the model.
        validation: The score, if the work was validated.
        graded: The whole result of that validation.
        final: The result of the test, in the last step.
        reward: Of the step.
        changes: Files of the workspace that changed: path, status, before, after, bytes.
        cwd: The folder of the shell afterwards.
        faults: Infrastructure faults before it.
        is_pending: Whether it has not ended; what is not known yet is missing.
    """

    n: int
    hash: str = ""
    time: str = ""
    thought: str = ""
    tool: str = ""
    action: str = ""
    stop: str = ""
    output: str = ""
    tail: str = ""
    characters: int | None = None
    output_file: str | None = None
    exit_code: int | None = None
    seconds: float | None = None
    thinking: float | None = None
    spent: float | None = None
    cost: float | None = None
    total_cost: float | None = None
    tokens: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    validation: float | None = None
    graded: Mapping[str, Any] | None = None
    final: Mapping[str, Any] | None = None
    reward: float | None = None
    changes: Sequence[Mapping[str, Any]] = ()
    cwd: str = ""
    faults: Sequence[str] = ()
    is_pending: bool = False

    @property
    def key(self) -> str:
        """The step in addresses."""
        return f"{self.n}-{self.hash[:6]}" if self.hash else str(self.n)

    @property
    def is_failed(self) -> bool:
        """Whether its command failed, or what was handed in was refused."""
        refused = any(
            one is not None and one.get("score") is None for one in (self.graded, self.final)
        )
        return bool(self.exit_code) or refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What an episode is about."""

    task: str = ""
    agent: str = ""
    model: str = ""
    seed: int | None = None
    instruction: str = ""
    source: str = "ludus"
    metric: str = ""
    lower: bool = False
    baseline: float | None = None
    threshold: float | None = None
    max_steps: int | None = None
    created: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Everything else, to be shown as it is."""


class Trajectory(Protocol):
    """An episode, whatever it was read from."""

    subject: Subject
    state: State
    result: Mapping[str, Any]
    """``outcome``, ``value``, ``reason``, ``end``, ``cost``, …; empty if there is none."""

    @property
    def count(self) -> int:
        """Number of steps that have ended."""

    def steps(self, first: int, last: int) -> list[Step]:
        """Return steps from ``first`` to before ``last``, as far as there are any."""

    def pending(self) -> Step | None:
        """Return the step that is being made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTrajectory:
    """A trajectory whose steps are in memory."""

    subject: Subject
    listed: Sequence[Step]
    state: State = "complete"
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of steps."""
        return len(self.listed)

    def steps(self, first: int, last: int) -> list[Step]:
        """Return steps from ``first`` to before ``last``, as far as there are any."""
        return list(self.listed[max(0, first) : max(0, last)])

    def pending(self) -> Step | None:
        """Return nothing: all steps have ended."""
        return None


def text_of(value: Any) -> str:
    """Return a text, and an empty one for anything else."""
    return value if isinstance(value, str) else ""


def number_of(value: Any) -> float | None:
    """Return a finite number, and ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count_of(value: Any) -> int | None:
    """Return a whole number that is not negative, and ``None`` for anything else."""
    return value if type(value) is int and 0 <= value < 2**62 else None


def seconds_between(earlier: str, later: str) -> float | None:
    """Return the seconds between two times of events."""
    try:
        passed = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    except (ValueError, TypeError):
        return None
    return max(0.0, passed.total_seconds())
