"""The reference solution: how like known patches an image is, quarter by quarter; least squares."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

PATCH, STRIDE, PATCHES = 6, 2, 240
SAMPLE, ROUNDS, BATCH = 60_000, 10, 500
PENALTY = 3.0
rng = np.random.default_rng(0)


def patches_of(images: Any) -> Any:
    """Return patches (images, rows, columns, pixels) with the same brightness and contrast."""
    views = np.lib.stride_tricks.sliding_window_view(images, (PATCH, PATCH), axis=(1, 2))
    views = views[:, ::STRIDE, ::STRIDE]
    flat = views.reshape(*views.shape[:3], -1).astype(np.float32)
    flat -= flat.mean(axis=-1, keepdims=True)
    return flat / np.sqrt(flat.var(axis=-1, keepdims=True) + 10.0)


def whitening_of(patches: Any) -> tuple[Any, Any]:
    """Return the mean of patches, and what takes the likeness of neighbouring pixels from them."""
    mean = patches.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(patches - mean, rowvar=False))
    return mean, ((vectors / np.sqrt(values + 0.1)) @ vectors.T).astype(np.float32)


def learn(images: Any) -> tuple[Any, Any, Any]:
    """Return mean and whitening of patches, and directions that many of them have."""
    drawn = patches_of(images[rng.permutation(len(images))[:2_000]])
    drawn = drawn.reshape(-1, drawn.shape[-1])
    drawn = drawn[rng.permutation(len(drawn))[:SAMPLE]]
    mean, whitening = whitening_of(drawn)
    drawn = (drawn - mean) @ whitening
    centres = drawn[rng.permutation(len(drawn))[:PATCHES]]
    for _ in range(ROUNDS):
        centres = centres / (np.linalg.norm(centres, axis=1, keepdims=True) + 1e-6)
        likeness = drawn @ centres.T
        nearest = likeness.argmax(axis=1)
        hits = np.zeros_like(likeness)
        rows = np.arange(len(drawn))
        hits[rows, nearest] = likeness[rows, nearest]
        centres = hits.T @ drawn + centres
    return mean, whitening, centres / np.linalg.norm(centres, axis=1, keepdims=True)


def features(images: Any, learnt: tuple[Any, Any, Any]) -> Any:
    """Return the mean likeness to each direction in the four quarters of an image."""
    mean, whitening, centres = learnt
    filters = whitening @ centres.T
    parts = []
    for start in range(0, len(images), BATCH):
        likeness = (patches_of(images[start : start + BATCH]) - mean) @ filters
        high, low = np.maximum(likeness - 0.5, 0), np.maximum(-likeness - 0.5, 0)
        half = likeness.shape[1] // 2
        quarters = [
            side[:, rows, columns].mean(axis=(1, 2))
            for side in (high, low)
            for rows in (slice(None, half), slice(half, None))
            for columns in (slice(None, half), slice(half, None))
        ]
        parts.append(np.concatenate(quarters, axis=1))
    return np.concatenate(parts)


def main() -> None:
    """Write the predictions."""
    with Path("train_labels.csv").open(newline="", encoding="utf-8") as file:
        classes = np.array([int(row["label"]) for row in csv.DictReader(file)])
    images = np.load("train_images.npy")
    learnt = learn(images)
    train = features(images, learnt)
    centre, scale = train.mean(axis=0), train.std(axis=0) + 1e-3
    train = (train - centre) / scale
    squares = train.T @ train + PENALTY * np.eye(train.shape[1], dtype=np.float32)
    targets = np.eye(10, dtype=np.float32)[classes]
    offset = targets.mean(axis=0)
    weights = np.linalg.solve(squares, train.T @ (targets - offset))
    Path("predictions").mkdir(exist_ok=True)
    for split in ("validation", "test"):
        asked = (features(np.load(f"{split}_images.npy"), learnt) - centre) / scale
        found = (asked @ weights + offset).argmax(axis=1)
        lines = ["id,label", *(f"{row},{label}" for row, label in enumerate(found))]
        Path("predictions", f"{split}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
