"""A task's data, made once per seed and kept: episodes start from copies, graders read it."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ludus.research.cache import cache_folder
from ludus.research.config import Artefact
from ludus.research.grading.contract import Split
from ludus.research.hiding import hidden_paths
from ludus.research.preparation import Prepared, prepare
from ludus.research.task import Task

__all__ = ["CachedTask"]


@dataclass(frozen=True, slots=True)
class CachedTask:
    """A task together with its data; what graders need of a task.

    Attributes:
        task: The task.
        digest: Of all that its data and scores depend on.
    """

    task: Task
    digest: str

    @classmethod
    def of(cls, task: Task) -> CachedTask:
        """Return a task as it is on the disk now; later changes are not noticed."""
        return cls(task, task.digest())

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def submission(self) -> tuple[Artefact, ...]:
        """The files that are handed in."""
        return self.task.config.submission

    @property
    def packages(self) -> tuple[str, ...]:
        """What grader and submitted code may import."""
        return self.task.config.packages

    @property
    def grader_folder(self) -> Path:
        """The folder with ``grade.py``."""
        return self.task.grader

    @property
    def hidden(self) -> tuple[Path, ...]:
        """What boxes with an agent's code have to cover."""
        return hidden_paths(self.task)

    def labels_folder(self, split: Split, seed: int) -> Path:
        """Return the labels of a split.

        Raises:
            DataMissing: What they are made from is not on this machine.
            TaskError: The task's ``data.py`` failed.
        """
        data = self.prepared(seed)
        return data.validation if split == "validation" else data.test

    def prepared(self, seed: int) -> Prepared:
        """Return workspace and labels for a seed, made on first use.

        Raises:
            DataMissing: What they are made from is not on this machine.
            TaskError: The task has no workspace, or its ``data.py`` failed.
        """
        place = cache_folder("data") / f"{self.id}-{self.digest[:24]}" / str(seed)
        if not place.is_dir():
            _make(self.task, seed, place)
        return Prepared(place / "workspace", place / "validation", place / "test")


def _make(task: Task, seed: int, place: Path) -> None:
    """Make the data beside its place, and put it there whole."""
    place.parent.mkdir(exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        prepare(task, seed, made)
        # Boxes have users of their own; who may come here at all is decided further up.
        for path in (made, *made.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)
        # Whoever comes second finds the first one's folder, which is the same.
        with suppress(OSError):
            made.rename(place)
    finally:
        shutil.rmtree(made, ignore_errors=True)
