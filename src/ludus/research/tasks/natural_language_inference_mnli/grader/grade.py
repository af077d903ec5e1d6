"""The grader: the share of pairs whose label was found."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ludus.research.grading import Column, Score, Split, Submission

LABELS = frozenset({"contradiction", "entailment", "neutral"})


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the score of the predictions for one split."""
    with (labels / "labels.csv").open(newline="", encoding="utf-8") as file:
        truth = {int(row["id"]): row["label"] for row in csv.DictReader(file)}
    columns: dict[str, type | Column] = {"id": int, "label": Column(str, choices=LABELS)}
    table = submission.csv(f"predictions/{split}.csv", columns, ids=list(truth))
    right = table["label"] == np.array(list(truth.values()), object)
    return Score(float(right.mean()), {"rows": len(truth), "seed": seed})
