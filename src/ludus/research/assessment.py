"""Grading as an episode sees it: what is handed in, how it was scored, and whose fault it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from ludus.errors import Error, SubmissionRejected
from ludus.research.data_cache import CachedTask
from ludus.research.grading.artefacts import Artefacts, collect
from ludus.research.grading.contract import Split
from ludus.research.grading.grading import grade
from ludus.research.grading.limits import GradingLimits
from ludus.research.grading.outcome import AgentFault, InfrastructureFault, Outcome, Scored
from ludus.research.secret import grader_seed
from ludus.research.task import Outcome as OutcomeName
from ludus.sandbox import Policy, Sandbox

__all__ = ["Assessment", "Assessor", "Grade", "graded_in_boxes"]

_TRIES = 2
_MEMORY = 2 << 30


class Grade(Protocol):
    """Grades artefacts, as :func:`ludus.research.grading.grade` does."""

    def __call__(
        self, task: CachedTask, artefacts: Artefacts, split: Split, seed: int, *, draw: int
    ) -> Outcome:
        """Return the outcome."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """One grading.

    Attributes:
        outcome: ``"scored"``, ``"agent_fault"`` or ``"infrastructure_fault"``.
        score: The score, if there is one.
        reason: Why there is none. Of a fault of the infrastructure, not for the agent.
        details: What else the grader says.
        files: The SHA-256 of each file that was graded.
        draw: What the grader drew from; ``None`` if there was nothing to grade.
    """

    outcome: OutcomeName
    score: float | None = None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    draw: int | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "outcome": self.outcome,
            "score": self.score,
            "reason": self.reason,
            "details": dict(self.details),
            "files": dict(self.files),
            "draw": self.draw,
        }


class Assessor:
    """Has the contents of an agent's box graded.

    Args:
        task: The task and its data.
        seed: Of the episode.
        grade: Grades.

    Attributes:
        artefacts: What was graded last; ``None`` if it could not even be taken.
    """

    def __init__(self, task: CachedTask, seed: int, grade: Grade) -> None:
        self._task, self._seed, self._grade = task, seed, grade
        self.artefacts: Artefacts | None = None

    def assess(self, box: Sandbox, split: Split) -> Assessment:
        """Copy out what the task declares, and have it graded; twice if the first try failed."""
        self.artefacts = None
        try:
            self.artefacts = collect(box, self._task.submission)
        except SubmissionRejected as problem:
            return Assessment("agent_fault", reason=str(problem))
        except Error as problem:
            return Assessment("infrastructure_fault", reason=f"{type(problem).__name__}: {problem}")
        return self.grade(self.artefacts, split)

    def grade(self, artefacts: Artefacts, split: Split, draw: int | None = None) -> Assessment:
        """Have files graded that were copied out before.

        Args:
            artefacts: The files.
            split: By which labels.
            draw: What the grader draws from, unless it is what it would be here.
        """
        drawn = grader_seed(self._task.id, self._seed, split) if draw is None else draw
        for _ in range(_TRIES):
            made = self._once(artefacts, split, drawn)
            if made.outcome != "infrastructure_fault":
                break
        return made

    def _once(self, artefacts: Artefacts, split: Split, draw: int) -> Assessment:
        graded: dict[str, Any] = {"files": artefacts.digests, "draw": draw}
        match self._grade(self._task, artefacts, split, self._seed, draw=draw):
            case Scored(score):
                details = dict(score.details)
                return Assessment("scored", float(score.value), details=details, **graded)
            case AgentFault(reason):
                return Assessment("agent_fault", reason=reason, **graded)
            case InfrastructureFault(reason):
                return Assessment("infrastructure_fault", reason=reason, **graded)


def graded_in_boxes(policy: Policy, backend: str | None) -> Grade:
    """Return what grades in boxes that have as much memory as the agent's, or more.

    Args:
        policy: Of the agent's box; what that is not held to, these are not.
        backend: Of the boxes.
    """
    limits = GradingLimits(
        memory=None if policy.memory is None else max(policy.memory, _MEMORY),
        cpus=None if policy.cpus is None else 1.0,
    )
    return partial(grade, backend=backend, limits=limits)
