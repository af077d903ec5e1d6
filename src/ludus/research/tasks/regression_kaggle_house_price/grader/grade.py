"""The grader: the share of the prices' variance that the predictions explain."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ludus.research.grading import Column, Score, Split, Submission

# Squares of these are finite, however many are added up.
COLUMNS = {"Id": Column(int), "SalePrice": Column(float, low=0, high=10_000_000)}


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return r2 of the predictions for one split, with the error in dollars beside it."""
    with (labels / "labels.csv").open(newline="", encoding="utf-8") as file:
        truth = {int(row["Id"]): float(row["SalePrice"]) for row in csv.DictReader(file)}
    prices = np.array(list(truth.values()))
    table = submission.csv(f"predictions/{split}.csv", COLUMNS, ids=list(truth))
    error = float(np.mean((table["SalePrice"] - prices) ** 2))
    details = {"rows": len(truth), "seed": seed, "rmse": error**0.5}
    return Score(1 - error / float(prices.var()), details)
