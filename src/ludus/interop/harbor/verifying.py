"""Grading in Harbor's verifier: ``python -m ludus.interop.harbor.verifying TESTS WORKSPACE LOGS``.

The grader and the submitted code run in separate sandboxes. After an infrastructure fault no reward
is written, so that Harbor reports a failed verifier instead of a score.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ludus.errors import GradingFailed, SubmissionRejected
from ludus.record.format.disk import read_small
from ludus.research.data.hiding import hidden_paths
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.grading import grade
from ludus.research.task.config import Artefact
from ludus.research.task.contract import Split
from ludus.research.task.discovery import load_task
from ludus.research.task.outcome import Outcome
from ludus.research.task.task import Task

__all__ = ["verify_submission"]

BACKEND_VARIABLE = "LUDUS_GRADING_BACKEND"
REWARD = "reward.json"


@dataclass(frozen=True, slots=True)
class _Exported:
    """An exported task: grader and labels without the data sources."""

    task: Task
    labels: Path

    @property
    def id(self) -> str:
        return self.task.id

    @property
    def submission(self) -> Sequence[Artefact]:
        return self.task.submission

    @property
    def packages(self) -> Sequence[str]:
        return self.task.config.packages

    @property
    def hidden(self) -> Sequence[Path]:
        return (*hidden_paths(self.task), self.labels.parent)

    @property
    def grader_folder(self) -> Path:
        return self.task.grader

    def labels_folder(self, split: Split, seed: int) -> Path:
        return self.labels

    def known_good(self, seed: int) -> None:
        return None  # the original workspace is not part of the export


def verify_submission(
    tests: Path, workspace: Path, logs: Path, *, backend: str | None = None
) -> Outcome:
    """Grade the submission in a workspace on the test split and write ``reward.json``.

    The file has the normalised score as ``reward``, and the metric; a malformed submission gets
    the task's floor in both.

    Args:
        tests: Folder ``tests`` of an exported task.
        workspace: Folder with the agent's files.
        logs: Folder for ``reward.json``.
        backend: Sandbox backend; ``None`` for the first isolating one that works.

    Raises:
        GradingFailed: An infrastructure fault; no reward is written.
        TaskError: The exported task is invalid.
    """
    task = load_task(tests / "task")
    exported = _Exported(task, tests / "labels")
    seed = int(json.loads((tests / "seed.json").read_text("utf-8"))["seed"])
    try:
        files = {item.path: _read(workspace, item) for item in exported.submission}
    except SubmissionRejected as problem:
        outcome = Outcome("agent_fault", reason=str(problem))
    else:
        outcome = grade(exported, Artefacts(files), "test", seed, backend=backend)
    if outcome.kind == "infrastructure_fault":
        raise GradingFailed(f"Task {task.id} could not be graded: {outcome.reason}")
    rewards = {"reward": task.scale.of(outcome)}
    if (counted := task.scale.counted(outcome.kind, outcome.score)) is not None:
        rewards[task.config.evaluation.metric] = counted
    logs.mkdir(parents=True, exist_ok=True)
    (logs / REWARD).write_text(json.dumps(rewards), encoding="utf-8")
    return outcome


def main(arguments: Sequence[str]) -> int:
    """Grade, and print the outcome to standard error."""
    tests, workspace, logs = map(Path, arguments)
    outcome = verify_submission(
        tests, workspace, logs, backend=os.environ.get(BACKEND_VARIABLE) or None
    )
    sys.stderr.write(f"{outcome}\n")
    return 0


def _read(workspace: Path, item: Artefact) -> bytes:
    """Return a file of the workspace; links are refused, as they could lead to the labels."""
    place = workspace
    for part in item.path.split("/"):
        place /= part
        if place.is_symlink():
            raise SubmissionRejected(f"{item.path} is or contains a link; submit regular files.")
    try:
        return read_small(place, item.max_bytes)[0]
    except OSError as problem:
        raise SubmissionRejected(f"{item.path} cannot be read: {problem.strerror}.") from problem


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
