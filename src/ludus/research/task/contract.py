"""What grading needs of a task, and what a task's grader is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from ludus.research.grading.artefacts import Artefacts
    from ludus.research.grading.submission import Submission
    from ludus.research.task.outcome import Score

__all__ = ["CODE_KINDS", "KINDS", "Declared", "Gradable", "Grader", "Split"]

Split: TypeAlias = Literal["validation", "test"]

KINDS = ("code", "csv", "json", "npz", "onnx", "safetensors", "text")
CODE_KINDS = ("code", "onnx")
"""Kinds that need a sandbox of their own to be of use."""


class Declared(Protocol):
    """One file of a submission, as its task declares it."""

    @property
    def path(self) -> str:
        """Its path below the workspace."""

    @property
    def kind(self) -> str:
        """One of ``KINDS``."""

    @property
    def max_bytes(self) -> int:
        """How large it may be."""


class Gradable(Protocol):
    """A task, as far as grading is concerned."""

    @property
    def id(self) -> str:
        """Its name, for messages."""

    @property
    def submission(self) -> Sequence[Declared]:
        """All files of a submission."""

    @property
    def packages(self) -> Sequence[str]:
        """Top-level packages that grader and submitted code may import."""

    @property
    def hidden(self) -> Sequence[Path]:
        """Paths of the host that a sandbox with submitted code never shows."""

    @property
    def grader_folder(self) -> Path:
        """The folder with ``grade.py``."""

    def labels_folder(self, split: Split, seed: int) -> Path | None:
        """Return the folder that only the grader may see; ``None`` if there is none.

        Raises:
            DataMissing: its source is not on this machine.
        """

    def known_good(self, seed: int) -> Artefacts | None:
        """Return a submission that the grader is known to score; ``None`` if there is none.

        It decides whose fault it is when the grader fails on another submission.
        """


class Grader(Protocol):
    """The class ``Grader`` of ``grade.py``, made without arguments.

    A function ``grade`` with the same parameters does as well.
    """

    def grade(self, submission: Submission, labels: Path, seed: int, split: Split) -> Score:
        """Return the score.

        This runs in the grading sandbox. ``labels`` is an empty folder if the task has no labels.

        Raises:
            SubmissionRejected: the submission is malformed. Its message is for the operator, and
                for the agent if no submitted code was run; ``told`` is for the agent. Any other
                exception is the submission's fault too, if the task's known-good submission is
                scored.
        """
