"""What is checked: one row per rule, and what a finding says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

__all__ = ["RULES", "Finding", "Report", "Rule", "finding"]

Severity = Literal["error", "warning"]


class Rule(NamedTuple):
    """What a rule is about, and what to do if it is broken."""

    severity: Severity
    meaning: str
    fix: str


RULES: dict[str, Rule] = {
    "field": Rule("error", "A field of the task's file is wrong.", "Correct it."),
    "no-workspace": Rule(
        "error",
        "There is nothing for the agent to start from.",
        "Add a folder 'workspace', or a data.py that fills one.",
    ),
    "no-grader": Rule(
        "error",
        "Nothing grades the submission.",
        "Add grader/grade.py with grade(submission, labels, seed, split).",
    ),
    "no-submission": Rule(
        "error",
        "No file is handed in, so there is nothing to grade.",
        "List the files under 'submission', each with path and kind.",
    ),
    "no-baseline": Rule(
        "error",
        "The baseline solution is missing or cannot be run.",
        "Add the folder 'baseline' and its command as run.baseline.",
    ),
    "no-reference": Rule(
        "error",
        "The reference solution is missing or cannot be run.",
        "Add the folder 'reference' and its command as run.reference.",
    ),
    "no-scale": Rule(
        "warning",
        "Scores cannot be normalised without it; rewards are only 0 or 1.",
        "Run the baseline and a null submission, and write both scores into 'evaluation'.",
    ),
    "link-out": Rule(
        "error",
        "A link in the workspace leads out of it.",
        "Replace the link by a copy of what the agent may see.",
    ),
    "special-file": Rule(
        "error", "It is neither a file nor a folder nor a link.", "Remove it from the workspace."
    ),
    "hard-link": Rule(
        "error",
        "A file of the workspace is, on disk, a file that the agent must not see or change.",
        "Remove it, or replace it by a copy if its content is no secret.",
    ),
    "secret-file": Rule(
        "error",
        "A file of the workspace has the content of a grader's, label or reference file.",
        "Remove it from the workspace.",
    ),
    "answers": Rule(
        "error",
        "A file of the workspace holds the answers of a split that is graded.",
        "Leave this column, or these rows, out of what data.py or you put into the workspace.",
    ),
    "readable-source": Rule(
        "error",
        "The data is made from a file that the agent's box shows too.",
        "List the file or its folder under 'hidden'.",
    ),
    "same-split": Rule(
        "error",
        "The validation split has the labels of the test split, so validating is testing.",
        "Split the data so that no row is in both.",
    ),
    "writable-input": Rule(
        "error",
        "The grader uses a file that the agent can write and does not hand in.",
        "Put a copy of the file into 'grader' or write it beside the labels, and use that.",
    ),
    "writable-file": Rule(
        "warning", "Every user of this machine may change it.", "chmod o-w it."
    ),
    "unpickles": Rule(
        "error",
        "Unpickling a submission runs the agent's code in the grader.",
        "Take csv, json, npz (without objects), safetensors or onnx; or code, run in its own box.",
    ),
    "executes-code": Rule(
        "warning",
        "The grader can run code that comes from elsewhere.",
        "Call submitted code with submission.code(name).call(function, ...) only.",
    ),
    "package": Rule(
        "error",
        "A package of the task cannot be imported here.",
        "Install it, or correct the name: it is the one after 'import'.",
    ),
    "too-large": Rule(
        "error",
        "It is too large.",
        "Have data.py write it, make it smaller, or raise resources.disk.",
    ),
    "unchecked": Rule(
        "warning",
        "It could not be searched for answers.",
        "See by hand that it holds none, or store it as csv, json, npy, npz or text.",
    ),
    "data-missing": Rule(
        "warning", "The data is not here, so it was not checked.", "Get it and check again."
    ),
    "data-failed": Rule("error", "data.py failed.", "Correct it."),
    "data-random": Rule(
        "error",
        "The same seed gave other data.",
        "Draw everything from a generator that is made of the seed; sort what is listed.",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that is broken, where, and what to do.

    ``file`` is relative to the task's folder where it lies in it; ``line`` is 0 where none is
    meant. Files that data.py writes are named as in an episode: ``workspace/train.csv``.
    """

    rule: str
    file: str
    line: int
    detail: str
    fix: str

    @property
    def severity(self) -> Severity:
        """``error``, or ``warning``."""
        return RULES[self.rule].severity

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.severity} [{self.rule}] {self.detail} {self.fix}"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON's data."""
        own = {"rule": self.rule, "severity": self.severity, "file": self.file, "line": self.line}
        return {**own, "detail": self.detail, "fix": self.fix}


def finding(rule: str, file: str | Path, line: int = 0, detail: str = "", fix: str = "") -> Finding:
    """Make a finding, with the rule's words unless there are better ones."""
    known = RULES[rule]
    return Finding(rule, str(file), line, detail or known.meaning, fix or known.fix)


@dataclass(frozen=True, slots=True)
class Report:
    """All findings about one task, errors first."""

    task: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not any(found.severity == "error" for found in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON's data."""
        rows = [found.to_dict() for found in self.findings]
        return {"task": self.task, "ok": self.ok, "findings": rows}
