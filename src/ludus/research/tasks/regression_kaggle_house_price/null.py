"""The null submission: every house costs what the training houses cost on average."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return the files of a submission without any knowledge."""
    price = fmean(float(row["SalePrice"]) for row in _rows(workspace / "train.csv"))
    made = {}
    for split in ("validation", "test"):
        lines = [f"{row['Id']},{price}\n" for row in _rows(workspace / f"{split}.csv")]
        made[f"predictions/{split}.csv"] = "".join(["Id,SalePrice\n", *lines]).encode()
    return made


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
