"""Grading that is recorded before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.assessment import Grade
from ludus.research.grading.artefacts import Artefacts
from ludus.research.running.log import Log
from ludus.research.task.contract import Split
from ludus.research.task.outcome import (
    REFUSED,
    AgentFault,
    InfrastructureFault,
    Outcome,
    Score,
    Scored,
)

__all__ = ["CannotResume", "LoggedGrade"]


class CannotResume(Exception):
    """The recorded actions give other results now; the episode has to be restarted."""


class LoggedGrade:
    """Records what is graded, and grades it.

    Attributes:
        known: The recorded outcome of the next grading: repeated actions are not graded twice.
    """

    def __init__(self, log: Log, grade: Grade) -> None:
        self._log, self._grade = log, grade
        self.known: Mapping[str, Any] | None = None

    def __call__(
        self, task: CachedTask, artefacts: Artefacts, split: Split, seed: int, *, draw: int
    ) -> Outcome:
        """Return the outcome.

        Only the files that were submitted first are ever tested, once. A step that is repeated
        after a fault cannot test anything else.

        Raises:
            CannotResume: Other files were submitted for the test before.
        """
        if self.known is not None:
            return _outcome(self.known)
        story = self._log.story
        if split == "test" and story.handed_in is not None:
            if story.handed_in["files"] != artefacts.digests:
                raise CannotResume("the last step handed in other files when it was done again")
            if story.tested is not None:
                return _outcome(story.tested)
        self._log.grading(split, artefacts)
        made = self._grade(task, artefacts, split, seed, draw=draw)
        if split == "test" and not isinstance(made, InfrastructureFault):
            self._log.tested(_plain(made))
        return made


def _plain(made: Scored | AgentFault) -> dict[str, Any]:
    if isinstance(made, AgentFault):
        return {"outcome": "agent_fault", "reason": made.reason, "told": made.told}
    score = made.score
    return {"outcome": "scored", "score": float(score.value), "details": dict(score.details)}


def _outcome(told: Mapping[str, Any]) -> Outcome:
    match told["outcome"]:
        case "scored":
            return Scored(Score(float(told["score"]), dict(told["details"])))
        case "agent_fault":
            return AgentFault(told["reason"], told.get("told", REFUSED))
    return InfrastructureFault(told["reason"])
