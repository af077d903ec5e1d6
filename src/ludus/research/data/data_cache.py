"""A task's data, made once per seed and kept: episodes start from copies, graders read it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ludus.errors import TaskError
from ludus.research.data.cache import cache_folder, kept_folder
from ludus.research.data.hiding import hidden_paths
from ludus.research.data.preparation import Prepared, null_submission, prepare
from ludus.research.data.sources import FETCHED, fetched_root, given_folders
from ludus.research.grading.artefacts import Artefacts
from ludus.research.grading.by_metric import metric_named
from ludus.research.grading.metrics import METRICS
from ludus.research.task.config import Artefact
from ludus.research.task.contract import Split
from ludus.research.task.task import Task

__all__ = ["CachedTask"]


@dataclass(frozen=True, slots=True)
class CachedTask:
    """A task with its data, as graders need it.

    ``digest`` is that of everything that its data and scores depend on.
    """

    task: Task
    digest: str

    @classmethod
    def of(cls, task: Task) -> CachedTask:
        """Return a task as it is on the disk now.

        If its files are changed later, nothing more is made from it.
        """
        return cls(task, task.digest())

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def submission(self) -> tuple[Artefact, ...]:
        """The declared submission files."""
        return self.task.submission

    @property
    def packages(self) -> tuple[str, ...]:
        """What grader and submitted code may import."""
        return self.task.config.packages

    @property
    def grader_folder(self) -> Path:
        """A copy of the folder with ``grade.py``, made on first use.

        Raises:
            TaskError: The task has been changed meanwhile.
        """
        if self.task.grades_itself:
            return self.task.grader
        return self._kept("grader", self._copy_grader) / "grader"

    @property
    def hidden(self) -> tuple[Path, ...]:
        """What sandboxes with an agent's code have to cover."""
        return hidden_paths(self.task)

    def labels_folder(self, split: Split, seed: int) -> Path:
        """Return the labels of a split.

        Raises:
            DataMissing, TaskError, ResearchError: As :meth:`prepared`.
        """
        data = self.prepared(seed)
        return data.validation if split == "validation" else data.test

    def known_good(self, seed: int) -> Artefacts | None:
        """Return the null submission, if the task has one.

        Raises:
            DataMissing, TaskError, ResearchError: As :meth:`prepared`, or its ``null.py`` failed.
        """
        files = null_submission(self.task, self.prepared(seed).workspace)
        return None if files is None else Artefacts(files)

    def prepared(self, seed: int) -> Prepared:
        """Return workspace and labels for a seed, made on first use.

        Raises:
            DataMissing: Their source is not on this machine.
            TaskError: The task has no workspace, its ``data.py`` failed, or it was changed
                meanwhile.
            ResearchError: The disk is full.
        """
        place = self._kept(str(seed), lambda folder: prepare(self.task, seed, folder))
        return Prepared(place / "workspace", place / "validation", place / "test")

    def keep(self, seed: int) -> Prepared:
        """Return :meth:`prepared`, and prepare everything else that grading will need.

        Raises:
            DataMissing, TaskError, ResearchError: As :meth:`prepared`.
        """
        _ = self.grader_folder
        made = self.prepared(seed)
        if not (self.task.has_grader or self.task.grades_itself or any(made.test.glob("*.csv"))):
            raise TaskError(
                f"Task {self.id} has neither a grader nor labels for the metric "
                f"{self.task.config.evaluation.metric}. Put labels.csv, with the columns id and "
                f"label, into {self.task.folder / 'test'} (and into 'validation' beside it), have "
                f"data.py write it, or write {self.task.grader / 'grade.py'}."
            )
        return made

    def hint(self, seed: int) -> str:
        """Return what an agent must know that a task without a grader does not say itself."""
        if self.task.has_grader or self.task.grades_itself:
            return ""
        evaluation, made = self.task.config.evaluation, self.prepared(seed)
        header = [_header(file) for file in sorted(made.test.glob("*.csv"))[:1]]
        columns = f" with the columns {header[0]}" if header else ""
        paths = " and ".join(item.path for item in self.submission)
        return (
            f"\n\nHand in {paths}{columns}, and a row for each row that is to be predicted. It is "
            f"graded by {evaluation.metric}; {evaluation.direction} is better."
        )

    def _copy_grader(self, folder: Path) -> None:
        if not self.task.has_grader:
            (folder / "grader").mkdir()
            (folder / "grader" / "grade.py").write_text(self._metric_grader(), "utf-8")
            return
        ignored = shutil.ignore_patterns("__pycache__", ".git")
        shutil.copytree(self.task.grader, folder / "grader", ignore=ignored)

    def _metric_grader(self) -> str:
        metric, declared = self.task.config.evaluation.metric, self.task.submission
        paths = [item.path for item in declared if item.kind == "csv"]
        if metric_named(metric) is None or not paths:
            what = f"the metric {metric!r} is" if paths else "no CSV file is declared, which is"
            raise TaskError(
                f"Task {self.id} has no grader, and {what} not enough to grade it. Write "
                f"{self.task.grader / 'grade.py'}, or use a CSV file and one of the metrics "
                f"{', '.join(METRICS)}."
            )
        module = "ludus.research.grading.by_metric"
        return f"from {module} import grader_of\n\ngrade = grader_of({metric!r}, {paths!r})\n"

    def _place(self, name: str) -> Path:
        return cache_folder("data") / f"{self.id}-{self.digest[:24]}{_given()}" / name

    def _kept(self, name: str, fill: Callable[[Path], object]) -> Path:
        def fill_unchanged(folder: Path) -> None:
            fill(folder)
            # What was made of another state must not be taken for this one's, now or ever.
            if not self._is_unchanged():
                raise TaskError(
                    f"The files of task {self.id} in {self.task.folder} have changed since it was "
                    "loaded. Make a new environment for the task as it is now."
                )

        return kept_folder(self._place(name), fill_unchanged)

    def _is_unchanged(self) -> bool:
        try:
            return self.task.digest() == self.digest
        except OSError:
            return False


def _header(file: Path) -> str:
    with file.open(encoding="utf-8", errors="replace") as opened:
        return opened.readline(1000).strip()


def _given() -> str:
    """Return a digest of the user's and the fetched data, on which the made data depends."""
    said = [f"{name}={folder}" for name, folder in given_folders().items()]
    said += [
        f"{file.parent.name}:{hashlib.sha256(file.read_bytes()).hexdigest()}"
        for file in sorted(fetched_root().glob(f"*/{FETCHED}"))
    ]
    told = "\0".join(said)
    return f"-{hashlib.sha256(told.encode()).hexdigest()[:12]}" if said else ""
