"""The grader of tasks that have none of their own: a metric by name on a file of predictions.

The labels of a split are one CSV file in its folder: an identifier and a label in each row, or the
label alone. The submission is a CSV file with the same two columns and a row for every identifier
of the split; it may have rows for the other split too. Where the labels have no identifiers, rows
are compared in their order. A metric of probabilities, such as ``loss``, takes a column for each
class after the identifier, or, if the classes are 0 and 1, the probability of 1 under the label's
name.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import GradingFailed, SubmissionRejected
from ludus.research.grading.formats import Table
from ludus.research.grading.metrics import METRICS, Metric
from ludus.research.grading.submission import Submission
from ludus.research.task.contract import Split
from ludus.research.task.outcome import Score

__all__ = ["file_of_split", "grader_of", "metric_named"]

_EXACT = 2**53  # from here on, different whole numbers are the same float
_NO_VALIDATION = "This task has no labels for validations; nothing was scored."


def metric_named(name: str) -> Metric | None:
    """Return a metric of the table, by its name in whatever spelling; ``None`` if it is none."""
    return METRICS.get(name.strip().lower().replace(" ", "_").replace("-", "_"))


def grader_of(metric: str, paths: Sequence[str]) -> Callable[..., Score]:
    """Return a grader for files of predictions.

    Raises:
        GradingFailed: There is no such metric.
    """
    found = metric_named(metric)
    if found is None:
        raise GradingFailed(f"There is no metric {metric!r}. There are {', '.join(METRICS)}.")

    def grade(submission: Submission, labels: Path, _: int, split: Split) -> Score:
        truth = _read_labels(labels, split)
        # What overflows is infinite, and refused.
        with np.errstate(over="ignore", invalid="ignore"):
            value = _score(found, submission, file_of_split(paths, split), truth)
        if not np.isfinite(value):
            raise SubmissionRejected(f"{metric} of these predictions is {value}.")
        return Score(value, {"rows": len(truth.values)})

    return grade


def file_of_split(paths: Sequence[str], split: str) -> str:
    """Return the file with the predictions of a split: the one that has its name, or the first."""
    return next((path for path in paths if split in Path(path).stem), paths[0])


@dataclass(frozen=True, slots=True)
class _Labels:
    ids: list[str] | None
    id_column: str
    column: str
    values: list[str]


def _read_labels(folder: Path, split: Split) -> _Labels:
    files = sorted(folder.glob("*.csv"))
    if not files and split == "validation":
        raise SubmissionRejected(_NO_VALIDATION, told=_NO_VALIDATION)
    if len(files) != 1:
        raise GradingFailed(f"The labels of the {split} split are {len(files)} CSV files, not one.")
    with files[0].open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    if len(header) not in (1, 2) or not rows or any(len(row) != len(header) for row in rows):
        raise GradingFailed(f"{files[0].name} has not one or two columns, with a row each.")
    values = [row[-1].strip() for row in rows]
    if len(header) == 1:
        return _Labels(None, "", header[0], values)
    ids = [row[0].strip() for row in rows]
    if len(set(ids)) != len(ids):
        raise GradingFailed(f"{files[0].name} has an identifier twice.")
    return _Labels(ids, header[0], header[1], values)


def _score(metric: Metric, submission: Submission, path: str, truth: _Labels) -> float:
    if metric.predicts == "probability":
        classes = sorted(set(truth.values), key=lambda one: (len(one), one))
        rows = np.array([classes.index(one) for one in truth.values])
        return metric.compute(rows, _probabilities(submission, path, truth, classes))
    kind = float if metric.predicts == "number" else str
    found = _predicted(submission, path, truth, {truth.column: kind})[truth.column]
    if kind is float:
        try:
            return metric.compute(np.array([float(one) for one in truth.values]), found)
        except ValueError as problem:
            raise GradingFailed(f"A label is no number: {problem}.") from problem
    told = np.array([_label(one) for one in truth.values])
    return metric.compute(told, np.array([_label(str(one)) for one in found]))


def _probabilities(
    submission: Submission, path: str, truth: _Labels, classes: list[str]
) -> NDArray[np.float64]:
    if set(classes) <= {"0", "1"}:
        one = _predicted(submission, path, truth, {truth.column: float})[truth.column]
        chances = np.stack([1 - one, one], axis=1)[:, [int(name) for name in classes]]
        allowed = bool(((one >= 0) & (one <= 1)).all())
    else:
        found = _predicted(submission, path, truth, dict.fromkeys(classes, float))
        chances = np.stack([found[name] for name in classes], axis=1)
        allowed = bool((chances >= 0).all() and (np.abs(chances.sum(axis=1) - 1) <= 1e-3).all())
    if not allowed:
        told = f"{path}: expected probabilities, from 0 to 1 and 1 together in each row."
        raise SubmissionRejected(told, told=told)
    return chances


def _predicted(
    submission: Submission, path: str, truth: _Labels, columns: dict[str, type]
) -> dict[str, NDArray[Any]]:
    """Return the columns of a submission, with the rows in the order of the labels."""
    if truth.ids is None:
        table = submission.csv(path, columns, rows=len(truth.values))
        return {name: table[name] for name in columns}
    table = submission.csv(path, {truth.id_column: str, **columns})
    order = _order(path, table, truth)
    return {name: table[name][order] for name in columns}


def _order(path: str, table: Table, truth: _Labels) -> NDArray[np.intp]:
    places: dict[str, int] = {}
    for row, one in enumerate(table[truth.id_column].tolist()):
        if places.setdefault(one, row) != row:
            told = f"{path}: the {truth.id_column} {one[:40]!r} is there twice."
            raise SubmissionRejected(told, told=told)
    missing = [one for one in truth.ids or () if one not in places]
    if missing:
        told = f"{path}: there is no row for {len(missing)} of {len(truth.values)} identifiers."
        raise SubmissionRejected(f"{told} The first is {missing[0]!r:.60}.", told=told)
    return np.array([places[one] for one in truth.ids or ()], np.intp)


def _label(text: str) -> str:
    """Return a label in one spelling: 3, 3.0 and ' 3' are the same."""
    text = text.strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if abs(number) < _EXACT and number == int(number) else text
