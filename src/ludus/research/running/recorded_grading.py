"""Grading that is recorded before it begins, and the test of files that a record has kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ludus.bench.faults import one_line
from ludus.errors import InfrastructureFailed, RecordError
from ludus.record.format.folder import Folder
from ludus.research.data.data_cache import CachedTask
from ludus.research.episode.assessment import Assessor, Grade
from ludus.research.grading.artefacts import Artefacts
from ludus.research.running.log import ARTEFACTS, Log
from ludus.research.running.results import last_reward
from ludus.research.running.story import Story
from ludus.research.task.contract import Split
from ludus.research.task.outcome import Outcome
from ludus.research.task.task import Task

__all__ = ["CannotResume", "LoggedGrade", "conclude", "kept_artefacts"]

_NOT_RUN = -1


def kept_artefacts(
    record: Path, story: Story, limits: Mapping[str, int], files: Mapping[str, str]
) -> Artefacts:
    """Return files that a record has kept, checked against their digests.

    ``limits`` are the most bytes of each path that a task accepts, ``files`` the SHA-256 of each.

    Raises:
        RecordError: They are not kept.
    """
    found: dict[str, bytes] = {}
    with Folder(record) as folder:
        for path, digest in files.items():
            kept = None
            if digest in story.files and path in limits:
                kept = folder.read(f"{ARTEFACTS}/{digest}", limits[path])
            if kept is None:
                raise RecordError(f"{path!r:.100} is not kept")
            found[path] = kept
    artefacts = Artefacts(found)
    if artefacts.digests != dict(files):
        raise RecordError("what is kept are other files")
    return artefacts


def conclude(log: Log, record: Path, task: Task, subject: Mapping[str, Any], grade: Grade) -> None:
    """End an episode that cannot be resumed with the test of the files in its record.

    The output of the last action is lost, and so is a validation that it asked for.

    Raises:
        InfrastructureFailed: It cannot be graded now.
        RecordError: The files are not kept.
        ValueError: No test had begun.
    """
    story, cached = log.story, CachedTask.of(task)
    if story.handed_in is None:
        raise ValueError("nothing was handed in for the test")
    limits = {item.path: item.max_bytes for item in cached.submission}
    artefacts = kept_artefacts(record, story, limits, story.handed_in["files"])
    assessor = Assessor(cached, int(subject["seed"]), LoggedGrade(log, grade), story.draws)
    made = assessor.grade(artefacts, "test")
    if made.outcome.kind == "infrastructure_fault":
        log.fault(one_line(made.outcome.reason))
        raise InfrastructureFailed(one_line(made.outcome.reason))
    last, decided = story.steps[-1] if story.steps else {}, story.decided or {}
    log.step(
        "",
        {
            "exit_code": _NOT_RUN,
            "cwd": last.get("cwd", ""),
            "reward": last_reward(story, subject, made.outcome),
            "terminated": False,
            "truncated": True,
            "end": "box",
            "validation": None,
            "graded": None,
            "final": made.plain(),
            "cost": last.get("cost", story.earlier.cost) + decided.get("cost", 0.0),
            "model_usage": last.get("model_usage", {}),
            "seconds": 0.0,
            "spent": last.get("spent", story.earlier.seconds),
            "waited": last.get("waited", story.earlier.waited),
            "measured": {"timed_out": False, "usage": {}},
            "state": None,
        },
    )


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
            return Outcome.from_plain(self.known)
        story = self._log.story
        if split == "test" and story.handed_in is not None:
            if story.handed_in["files"] != artefacts.digests:
                raise CannotResume("the last step handed in other files when it was done again")
            if story.tested is not None:
                return Outcome.from_plain(story.tested)
        self._log.grading(split, artefacts)
        made = self._grade(task, artefacts, split, seed, draw=draw)
        if split == "test" and made.kind != "infrastructure_fault":
            self._log.tested(made)
        return made
