"""Grading out of a submission's reach: three sandboxes, a narrow protocol, typed outcomes.

Files are only copied out of the agent's sandbox. A fresh grading sandbox has the grader and the
labels; a fresh submission sandbox runs the submitted code. The host relays between them.

Names load on first use, since the programs in the sandboxes need few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_attributes

if TYPE_CHECKING:
    from ludus.research.grading.artefacts import Artefacts, collect
    from ludus.research.grading.formats import Column, Table
    from ludus.research.grading.grading import grade
    from ludus.research.grading.limits import GradingLimits
    from ludus.research.grading.submission import Code, Model, Submission
    from ludus.research.task.contract import Declared, Gradable, Grader, Split
    from ludus.research.task.outcome import Outcome, Score

__all__ = [
    "Artefacts",
    "Code",
    "Column",
    "Declared",
    "Gradable",
    "Grader",
    "GradingLimits",
    "Model",
    "Outcome",
    "Score",
    "Split",
    "Submission",
    "Table",
    "collect",
    "grade",
]

_NAMES = {
    "ludus.research.grading.artefacts": "Artefacts collect",
    "ludus.research.grading.formats": "Column Table",
    "ludus.research.grading.grading": "grade",
    "ludus.research.grading.limits": "GradingLimits",
    "ludus.research.grading.submission": "Code Model Submission",
    "ludus.research.task.contract": "Declared Gradable Grader Split",
    "ludus.research.task.outcome": "Outcome Score",
}

__getattr__ = lazy_attributes(
    __name__, {name: home for home, names in _NAMES.items() for name in names.split()}
)


def __dir__() -> list[str]:
    return __all__
