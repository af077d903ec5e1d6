"""Tasks and submissions made for one test each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

from ludus.research.grading import Artefacts, GradingLimits, grade
from tests.sandbox.support import needs

boxed = needs("bubblewrap", root=True)

QUICK = GradingLimits(
    start=60.0,
    load=20.0,
    call=2.0,
    code=20.0,
    grader=60.0,
    message_bytes=8 << 20,
    printed_bytes=1 << 20,
    memory="512M",
    pids=32,
)


@dataclass(frozen=True)
class File:
    path: str
    kind: str
    max_bytes: int = 1 << 20


@dataclass
class MadeTask:
    """A task with a grader's source, labels by split, and a submission known to be good."""

    folder: Path
    grader: str
    submission: list[File]
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = ()
    id: str = "made"
    good: dict[str, bytes] | None = None

    def __post_init__(self):
        self.grader_folder = self.folder / "grader"
        self.grader_folder.mkdir(parents=True, exist_ok=True)
        (self.grader_folder / "grade.py").write_text(dedent(self.grader))
        for split, files in self.labels.items():
            (self.folder / split).mkdir(exist_ok=True)
            for name, text in files.items():
                (self.folder / split / name).write_text(text)

    def labels_folder(self, split, seed):
        return self.folder / split if split in self.labels else None

    def known_good(self, seed):
        return None if self.good is None else Artefacts(self.good)

    def graded(self, *, split="validation", seed=0, limits=QUICK, backend=None, **files):
        """Grade files given by name, in which ``__`` stands for the dot."""
        contents = {
            name.replace("__", "."): dedent(data).encode() if isinstance(data, str) else data
            for name, data in files.items()
        }
        return grade(self, Artefacts(contents), split, seed, limits=limits, backend=backend)
