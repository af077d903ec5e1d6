"""The grader: the share of passengers whose fate was predicted rightly."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ludus.research.grading import Column, Score, Split, Submission

COLUMNS = {"PassengerId": Column(int), "Survived": Column(int, choices=frozenset({0, 1}))}


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the accuracy of the predictions for one split."""
    with (labels / "labels.csv").open(newline="", encoding="utf-8") as file:
        truth = {int(row["PassengerId"]): int(row["Survived"]) for row in csv.DictReader(file)}
    table = submission.csv(f"predictions/{split}.csv", COLUMNS, ids=list(truth))
    right = table["Survived"] == np.array(list(truth.values()))
    return Score(float(right.mean()), {"rows": len(truth), "seed": seed})
