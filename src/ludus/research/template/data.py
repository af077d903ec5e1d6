"""The data: points near a line, drawn from the seed."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

ROWS = {"train": 400, "validation": 200, "test": 200}


def build(folder: Path, seed: int) -> None:
    """Write the workspace's files, and the labels beside it."""
    rng = np.random.default_rng(seed)
    first = 0
    for split, count in ROWS.items():
        ids = range(first, first + count)
        first += count
        x = rng.uniform(-1, 1, count)
        y = 3 * x + 1 + rng.normal(0, 0.1, count)
        if split == "train":
            _write(folder / "workspace" / "train.csv", "id x y", zip(ids, x, y, strict=True))
        else:
            _write(folder / "workspace" / f"{split}.csv", "id x", zip(ids, x, strict=True))
            _write(folder / split / "labels.csv", "id y", zip(ids, y, strict=True))


def _write(path: Path, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns.split())
        writer.writerows(rows)
