"""Grading of an agent's work: copy it out of the sandbox, grade it, and retry after faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from ludus.bench.result import OutcomeKind
from ludus.errors import Error, SubmissionRejected
from ludus.research.data.data_cache import CachedTask
from ludus.research.grading.artefacts import Artefacts, collect
from ludus.research.grading.draws import Draws, draw_kind
from ludus.research.grading.grading import grade
from ludus.research.grading.limits import GradingLimits
from ludus.research.grading.refusal import told_of
from ludus.research.task.contract import Split
from ludus.research.task.outcome import AgentFault, InfrastructureFault, Outcome, Scored
from ludus.sandbox import Policy, Sandbox

__all__ = ["Assessment", "Assessor", "Grade", "graded_in_sandboxes"]

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
    """The result of one grading, for the operator.

    Of a validation, the agent is told ``score`` and ``told``; of the test, nothing.

    Attributes:
        outcome: ``"scored"``, ``"agent_fault"`` or ``"infrastructure_fault"``.
        score: The score, if there is one.
        reason: Why there is none.
        details: Further results of the grader.
        files: The SHA-256 of each graded file.
        draw: The grader's random number; ``None`` if nothing was graded.
        told: What the agent may be told of an agent fault in a validation.
    """

    outcome: OutcomeKind
    score: float | None = None
    reason: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    draw: int | None = None
    told: str = ""

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "outcome": self.outcome,
            "score": self.score,
            "reason": self.reason,
            "details": dict(self.details),
            "files": dict(self.files),
            "draw": self.draw,
            "told": self.told,
        }


class Assessor:
    """Grades the contents of an agent's sandbox.

    Attributes:
        draws: Of the episode.
        artefacts: What was graded last; ``None`` if it could not be copied.
    """

    def __init__(
        self, task: CachedTask, seed: int, grade: Grade, draws: Draws | None = None
    ) -> None:
        self._task, self._seed, self._grade = task, seed, grade
        self.draws = draws or Draws.begin(draw_kind())
        self.artefacts: Artefacts | None = None

    def assess(self, sandbox: Sandbox, split: Split, count: int = 0) -> Assessment:
        """Copy out the declared files and grade them, again if the infrastructure failed.

        Args:
            sandbox: The agent's.
            split: Which labels to use.
            count: Number of the validation, from 1; 0 for the test.
        """
        self.artefacts = None
        try:
            self.artefacts = collect(sandbox, self._task.submission)
        except SubmissionRejected as problem:
            told = told_of(problem, is_code_asked=False)
            return Assessment("agent_fault", reason=str(problem), told=told)
        except (Error, OSError, MemoryError) as problem:
            return Assessment("infrastructure_fault", reason=f"{type(problem).__name__}: {problem}")
        drawn = self.draws.number(self._task.id, self._seed, split, count)
        return self.grade(self.artefacts, split, drawn)

    def grade(self, artefacts: Artefacts, split: Split, draw: int | None = None) -> Assessment:
        """Grade files that were copied out before, by default with the draw of the test."""
        drawn = self.draws.number(self._task.id, self._seed, split, 0) if draw is None else draw
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
            case AgentFault(reason, told):
                return Assessment("agent_fault", reason=reason, told=told, **graded)
            case InfrastructureFault(reason):
                return Assessment("infrastructure_fault", reason=reason, **graded)


def graded_in_sandboxes(policy: Policy, backend: str | None) -> Grade:
    """Return a function that grades in sandboxes with at least the agent's memory.

    Limits that the agent's policy lacks, these sandboxes lack too.
    """
    limits = GradingLimits(
        memory=None if policy.memory is None else max(policy.memory, _MEMORY),
        cpus=None if policy.cpus is None else 1.0,
    )
    return partial(grade, backend=backend, limits=limits)
