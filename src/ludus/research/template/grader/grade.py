"""The grader: mean absolute error on the split that is asked for."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ludus.research.grading import Score, Split, Submission


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the score of the predictions for one split."""
    with (labels / "labels.csv").open(newline="", encoding="utf-8") as file:
        truth = {int(row["id"]): float(row["y"]) for row in csv.DictReader(file)}
    columns = {"id": int, "y": float}
    table = submission.csv(f"predictions/{split}.csv", columns, ids=list(truth))
    error = float(np.mean(np.abs(table["y"] - np.array(list(truth.values())))))
    return Score(error, {"rows": len(truth), "seed": seed})
