"""Grading that is written down before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ludus.research.assessment import Grade
from ludus.research.data_cache import CachedTask
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.contract import Split
from ludus.research.grading.outcome import (
    REFUSED,
    AgentFault,
    InfrastructureFault,
    Outcome,
    Score,
    Scored,
)
from ludus.research.running.log import Log

__all__ = ["LoggedGrade"]


class LoggedGrade:
    """Keeps what is graded, writes that it is, and has it graded.

    Args:
        log: The record.
        grade: Grades.

    Attributes:
        known: The outcome of the next grading, where it is in the record already: actions that are
            taken again have nothing graded twice.
    """

    def __init__(self, log: Log, grade: Grade) -> None:
        self._log, self._grade = log, grade
        self.known: Mapping[str, Any] | None = None

    def __call__(
        self, task: CachedTask, artefacts: Artefacts, split: Split, seed: int, *, draw: int
    ) -> Outcome:
        """Return the outcome."""
        if self.known is not None:
            return _outcome(self.known)
        self._log.grading(split, artefacts)
        return self._grade(task, artefacts, split, seed, draw=draw)


def _outcome(told: Mapping[str, Any]) -> Outcome:
    match told["outcome"]:
        case "scored":
            return Scored(Score(float(told["score"]), dict(told["details"])))
        case "agent_fault":
            return AgentFault(told["reason"], told.get("told", REFUSED))
    return InfrastructureFault(told["reason"])
