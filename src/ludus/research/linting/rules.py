"""The rules for tasks: one row per rule."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ludus.findings import Finding, Report, Rule, RuleBook

__all__ = ["BOOK", "RULES", "finding", "ordered", "to_dict"]

_TABLE = (
    Rule("field", "error", "A field of the task's file is wrong.", "Correct it."),
    Rule(
        "no-workspace",
        "error",
        "There is nothing for the agent to start from.",
        "Add a folder 'workspace', or a data.py that fills one.",
    ),
    Rule(
        "no-grader",
        "error",
        "Nothing grades the submission.",
        "Add grader/grade.py with grade(submission, labels, seed, split).",
    ),
    Rule(
        "no-submission",
        "error",
        "No file is handed in, so there is nothing to grade.",
        "List the files under 'submission', each with path and kind.",
    ),
    Rule(
        "no-baseline",
        "error",
        "The baseline solution is missing or cannot be run.",
        "Add the folder 'baseline' and its command as run.baseline.",
    ),
    Rule(
        "no-reference",
        "error",
        "The reference solution is missing or cannot be run.",
        "Add the folder 'reference' and its command as run.reference.",
    ),
    Rule(
        "no-scale",
        "warning",
        "Scores cannot be normalised without it; rewards are only 0 or 1.",
        "Run the baseline and a null submission, and write both scores into 'evaluation'.",
    ),
    Rule(
        "link-out",
        "error",
        "A link in the workspace leads out of it.",
        "Replace the link by a copy of what the agent may see.",
    ),
    Rule(
        "special-file",
        "error",
        "It is neither a file nor a folder nor a link.",
        "Remove it from the workspace.",
    ),
    Rule(
        "hard-link",
        "error",
        "A file of the workspace is, on disk, a file that the agent must not see or change.",
        "Remove it, or replace it by a copy if its content is no secret.",
    ),
    Rule(
        "secret-file",
        "error",
        "A file of the workspace has the content of a grader's, label or reference file.",
        "Remove it from the workspace.",
    ),
    Rule(
        "answers",
        "error",
        "A file of the workspace holds the answers of a split that is graded.",
        "Leave this column, or these rows, out of what data.py or you put into the workspace.",
    ),
    Rule(
        "readable-source",
        "error",
        "The data is made from a file that the agent's sandbox shows too.",
        "List the file or its folder under 'hidden'.",
    ),
    Rule(
        "same-split",
        "error",
        "The validation split has the labels of the test split, so validating is testing.",
        "Split the data so that no row is in both.",
    ),
    Rule(
        "writable-input",
        "error",
        "The grader uses a file that the agent can write and does not hand in.",
        "Put a copy of the file into 'grader' or write it beside the labels, and use that.",
    ),
    Rule("writable-file", "warning", "Every user of this machine may change it.", "chmod o-w it."),
    Rule(
        "unpickles",
        "error",
        "Unpickling a submission runs the agent's code in the grader.",
        "Take csv, json, npz (without objects), safetensors or onnx; or code in its own sandbox.",
    ),
    Rule(
        "executes-code",
        "warning",
        "The grader can run code that comes from elsewhere.",
        "Call submitted code with submission.code(name).call(function, ...) only.",
    ),
    Rule(
        "package",
        "error",
        "A package of the task cannot be imported here.",
        "Install it, or correct the name: it is the one after 'import'.",
    ),
    Rule(
        "too-large",
        "error",
        "It is too large.",
        "Have data.py write it, make it smaller, or raise resources.disk.",
    ),
    Rule(
        "unchecked",
        "warning",
        "It could not be searched for answers.",
        "See by hand that it holds none, or store it as csv, json, npy, npz or text.",
    ),
    Rule(
        "data-missing",
        "warning",
        "The data is not here, so it was not checked.",
        "Get it and check again.",
    ),
    Rule("data-failed", "error", "data.py failed.", "Correct it."),
    Rule(
        "solution-failed",
        "error",
        "A solution of the task has no score.",
        "Correct it, or the grader; 'ludus task run TASK --solution NAME' shows all of its output.",
    ),
    Rule(
        "wrong-score",
        "error",
        "A declared score is not what the solution scores.",
        "Write the measured score; 'ludus task check TASK --run --write' does.",
    ),
    Rule(
        "score-order",
        "error",
        "A solution is better than one that should be better than it.",
        "Improve the baseline or the reference, or correct the grader or evaluation.direction.",
    ),
    Rule(
        "data-random",
        "error",
        "The same seed gave other data.",
        "Draw everything from a generator that is made of the seed; sort what is listed.",
    ),
)

BOOK = RuleBook(
    ("warning", "error"),
    _TABLE,
    {
        "rule": "rule",
        "severity": "severity",
        "file": "path",
        "line": "line",
        "detail": "message",
        "fix": "advice",
    },
)
RULES = BOOK.rules


def finding(
    rule: str, path: str | Path, line: int = 0, message: str = "", advice: str = ""
) -> Finding:
    """Return a finding, with the rule's meaning and advice unless others are given.

    ``path`` is relative to the task's folder if it lies there. Files that data.py writes are named
    as in an episode: ``workspace/train.csv``.
    """
    return BOOK.finding(rule, message or None, str(path), line, advice=advice)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return different findings, the most severe first."""
    return tuple(
        sorted(
            dict.fromkeys(findings),
            key=lambda row: (BOOK.order(row), row.path, row.line, row.rule),
        )
    )


def to_dict(report: Report) -> dict[str, Any]:
    """Return a report about a task as JSON-ready data."""
    rows = [BOOK.to_dict(found) for found in report.findings]
    return {"task": report.subject, "ok": report.ok, "findings": rows}
