"""Outcome of a grading: a score, an agent fault, or an infrastructure fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["REFUSED", "AgentFault", "InfrastructureFault", "Outcome", "Score", "Scored"]

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
class Scored:
    """The submission was graded.

    Args:
        score: finite, from the grading sandbox.
        seconds: time of the submitted code in all its calls, by the host's clock.
        calls: requests that it answered; a batch is one.
    """

    score: Score
    seconds: float = 0.0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class AgentFault:
    """The submission has no score, through its own fault.

    Args:
        reason: what was wrong and where, for the operator. It may quote hidden data from submitted
            code: not for the agent.
        told: what the agent may be told after a validation, at most 300 characters of a fixed
            vocabulary.
    """

    reason: str
    told: str = REFUSED


@dataclass(frozen=True, slots=True)
class InfrastructureFault:
    """There is no score, which says nothing about the submission.

    Args:
        reason: what failed, known from outside the agent's reach. It may quote the grader: not for
            the agent.
    """

    reason: str


Outcome: TypeAlias = Scored | AgentFault | InfrastructureFault
