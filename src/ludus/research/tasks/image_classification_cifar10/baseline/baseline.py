"""The baseline: least squares on images of half the size."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

PENALTY = 10.0


def features(name: str) -> Any:
    """Return the means of blocks of 2 x 2 pixels, and a constant."""
    images = np.load(name)
    count, size = len(images), images.shape[1] // 2
    means = images.reshape(count, size, 2, size, 2, 3).mean(axis=(2, 4), dtype=np.float32)
    flat = means.reshape(count, -1) / 128 - 1
    return np.column_stack([flat, np.ones(count, np.float32)])


with Path("train_labels.csv").open(newline="", encoding="utf-8") as file:
    classes = np.array([int(row["label"]) for row in csv.DictReader(file)])
train = features("train_images.npy")
squares = train.T @ train + PENALTY * np.eye(train.shape[1], dtype=np.float32)
weights = np.linalg.solve(squares, train.T @ np.eye(10, dtype=np.float32)[classes])

Path("predictions").mkdir(exist_ok=True)
for split in ("validation", "test"):
    found = (features(f"{split}_images.npy") @ weights).argmax(axis=1)
    lines = ["id,label", *(f"{row},{label}" for row, label in enumerate(found))]
    Path("predictions", f"{split}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
