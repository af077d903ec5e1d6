"""The null submission: the same number for every row."""

from __future__ import annotations

import csv
from pathlib import Path


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return the files of a submission without any knowledge."""
    made = {}
    for split in ("validation", "test"):
        with (workspace / f"{split}.csv").open(newline="", encoding="utf-8") as file:
            rows = [f"{row['id']},0\n" for row in csv.DictReader(file)]
        made[f"predictions/{split}.csv"] = "".join(["id,y\n", *rows]).encode()
    return made
