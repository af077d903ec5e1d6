"""Grading that a submission cannot reach: three boxes, a narrow protocol, typed outcomes.

The agent's box is only copied from. A fresh grading box has the grader and the labels; a fresh
submission box has the submitted files and runs submitted code. The host stands between them.

What is named here loads when it is first used: the programs in the boxes need little of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names

if TYPE_CHECKING:
    from ludus.research.grading.artefacts import Artefacts, collect
    from ludus.research.grading.contract import Declared, Gradable, Grader, Split
    from ludus.research.grading.formats import Column, Table
    from ludus.research.grading.grading import grade
    from ludus.research.grading.limits import GradingLimits
    from ludus.research.grading.outcome import (
        AgentFault,
        InfrastructureFault,
        Outcome,
        Score,
        Scored,
    )
    from ludus.research.grading.submission import Code, Model, Submission

__all__ = [
    "AgentFault",
    "Artefacts",
    "Code",
    "Column",
    "Declared",
    "Gradable",
    "Grader",
    "GradingLimits",
    "InfrastructureFault",
    "Model",
    "Outcome",
    "Score",
    "Scored",
    "Split",
    "Submission",
    "Table",
    "collect",
    "grade",
]

_MODULES = {
    **dict.fromkeys(("Artefacts", "collect"), "artefacts"),
    **dict.fromkeys(("Declared", "Gradable", "Grader", "Split"), "contract"),
    **dict.fromkeys(("Column", "Table"), "formats"),
    "grade": "grading",
    "GradingLimits": "limits",
    **dict.fromkeys(("AgentFault", "InfrastructureFault", "Outcome", "Score", "Scored"), "outcome"),
    **dict.fromkeys(("Code", "Model", "Submission"), "submission"),
}

__getattr__ = lazy_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
