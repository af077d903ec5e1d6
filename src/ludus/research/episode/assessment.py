"""Grading of an agent's work: copy it out of the sandbox, grade it, and retry after faults."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from ludus.errors import Error, SubmissionRejected
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.equipment import Equipment
from ludus.research.grading.artefacts import Artefacts, collect
from ludus.research.grading.draws import Draws, draw_kind
from ludus.research.grading.grading import grade
from ludus.research.grading.limits import GradingLimits
from ludus.research.grading.refusal import told_of
from ludus.research.task.contract import Split
from ludus.research.task.outcome import Graded, Outcome
from ludus.sandbox import Policy, Sandbox

__all__ = ["Assessor", "Grade", "OwnAssessor", "graded_in_sandboxes"]

_TRIES = 2
_MEMORY = 2 << 30


class Grade(Protocol):
    """Grades artefacts, as :func:`ludus.research.grading.grade` does."""

    def __call__(
        self, task: CachedTask, artefacts: Artefacts, split: Split, seed: int, *, draw: int
    ) -> Outcome:
        """Return the outcome."""


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

    def assess(self, sandbox: Sandbox, split: Split, count: int = 0) -> Graded:
        """Copy out the declared files and grade them, again if the infrastructure failed.

        ``count`` is the number of the validation, from 1; 0 for the test.
        """
        self.artefacts = None
        try:
            self.artefacts = collect(sandbox, self._task.submission)
        except SubmissionRejected as problem:
            told = told_of(problem, is_code_asked=False)
            return Graded(Outcome("agent_fault", reason=str(problem), told=told))
        except (Error, OSError, MemoryError) as problem:
            reason = f"{type(problem).__name__}: {problem}"
            return Graded(Outcome("infrastructure_fault", reason=reason))
        drawn = self.draws.number(self._task.id, self._seed, split, count)
        return self.grade(self.artefacts, split, drawn)

    def grade(self, artefacts: Artefacts, split: Split, draw: int | None = None) -> Graded:
        """Grade files that were copied out before, by default with the draw of the test."""
        drawn = self.draws.number(self._task.id, self._seed, split, 0) if draw is None else draw
        for _ in range(_TRIES):
            made = self._grade(self._task, artefacts, split, self._seed, draw=drawn)
            if made.kind != "infrastructure_fault":
                break
        return Graded(made, artefacts.digests, drawn)


class OwnAssessor(Assessor):
    """For tasks that grade themselves: nothing is copied, and the score is set by their rewards."""

    def assess(self, sandbox: Sandbox, split: Split, count: int = 0) -> Graded:
        """Return a score of 0, to which rewards are added; there is nothing to validate."""
        if split == "validation":
            told = "This task has no validation; its rewards say how good the work is."
            return Graded(Outcome("agent_fault", reason=told, told=told))
        return Graded(Outcome("scored", 0.0))


def graded_in_sandboxes(policy: Policy, equipment: Equipment) -> Grade:
    """Return a function that grades in sandboxes with at least the agent's memory.

    Limits that the agent's policy lacks, these sandboxes lack too. The equipment is for submitted
    code; of it the grader's sandbox has the backend alone.
    """
    limits = GradingLimits(
        memory=None if policy.memory is None else max(policy.memory, _MEMORY),
        cpus=None if policy.cpus is None else 1.0,
    )
    return partial(grade, equipment=equipment, limits=limits)
