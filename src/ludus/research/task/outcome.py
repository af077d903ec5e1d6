"""Outcome of a grading, from the grader to the record: one type for all three kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from ludus.bench.result import OutcomeKind

__all__ = ["REFUSED", "Graded", "Outcome", "Score"]

REFUSED = "The submission was refused."
"""What an agent is told if nothing more is safe to say."""


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a grader.

    Args:
        value: the task's metric.
        details: further numbers and texts for the record, plain JSON.
    """

    value: float
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A score, an agent fault, or an infrastructure fault, which says nothing about the agent.

    Attributes:
        kind: ``"scored"``, ``"agent_fault"`` or ``"infrastructure_fault"``.
        score: finite, from the grading sandbox; ``None`` for a fault.
        reason: what was wrong and where, for the operator. It may quote hidden data: not for the
            agent.
        details: further results of the grader.
        told: what the agent may be told of its fault after a validation, at most 300 characters of
            a fixed vocabulary.
        seconds: time of the submitted code in all its calls, by the host's clock.
        calls: requests that it answered; a batch is one.
    """

    kind: OutcomeKind
    score: float | None = None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    told: str = ""
    seconds: float = 0.0
    calls: int = 0

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Self:
        """Return the outcome in the data of an event, which need not be trusted.

        Raises:
            KeyError: It names no outcome.
        """
        rest = {name: data[name] for name in ("score", "reason", "details", "told") if name in data}
        return cls(data["outcome"], **rest)


@dataclass(frozen=True, slots=True)
class Graded:
    """One grading of an episode, for the operator.

    Of a validation, the agent is told the score and ``told``; of the test, nothing.

    Attributes:
        outcome: Its outcome.
        files: The SHA-256 of each graded file.
        draw: The grader's random number; ``None`` if nothing was graded.
    """

    outcome: Outcome
    files: Mapping[str, str] = field(default_factory=dict)
    draw: int | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as the data of an event."""
        made = self.outcome
        return {
            "outcome": made.kind,
            "score": made.score,
            "reason": made.reason,
            "details": dict(made.details),
            "files": dict(self.files),
            "draw": self.draw,
            "told": made.told,
        }

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Self:
        """Return what :meth:`plain` returned; the data need not be trusted.

        Raises:
            KeyError: It names no outcome, or no files.
        """
        return cls(Outcome.from_plain(data), data["files"], data.get("draw"))
