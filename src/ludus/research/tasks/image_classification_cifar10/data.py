"""The data: CIFAR-10, its training images split by the seed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from ludus.research.data.sources import Download, Source, read_image, read_rows

SIZE, CLASSES = 32, 10
VALIDATION = 0.1
"""Share of the training images whose labels are kept for validations."""
RECORD = 1 + 3 * SIZE * SIZE

SOURCE = Source(
    name="CIFAR-10",
    variable="LUDUS_DATA_CIFAR10",
    files="data_batch_1.bin to data_batch_5.bin and test_batch.bin (or the train-*.parquet and "
    "test-*.parquet of uoft-cs/cifar10)",
    origin="https://www.cs.toronto.edu/~kriz/cifar.html (the binary version; the Python version is "
    "pickled, and not read)",
    hub=("uoft-cs/cifar10", "cifar10"),
    layouts=(
        ["**/data_batch_*.bin", "**/test_batch.bin"],
        ["**/train-*.parquet", "**/test-*.parquet"],
    ),
    downloads=(
        Download(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            ".",
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            unpack=True,
        ),
    ),
    rows={"train": 50_000, "test": 10_000},
)

Labelled = tuple[Any, Any]


def build(folder: Path, seed: int) -> None:
    """Write images into the workspace, with labels those for training only."""
    known, test = _load()
    rng = np.random.default_rng(seed)
    images, labels = _shuffled(known, rng)
    held_back = int(VALIDATION * len(labels))
    _write(folder, "validation", (images[:held_back], labels[:held_back]))
    _write(folder, "test", _shuffled(test, rng))
    np.save(folder / "workspace" / "train_images.npy", images[held_back:])
    _write_labels(folder / "workspace" / "train_labels.csv", labels[held_back:])


def count_rows() -> dict[str, int]:
    """Return the number of images of each part."""
    return {name: len(part[1]) for name, part in zip(SOURCE.rows, _load(), strict=True)}


def _load() -> tuple[Labelled, Labelled]:
    """Return the images and labels for training, and those of the test."""
    first, second = SOURCE.find()
    read = _read_packed if first[0].suffix == ".parquet" else _read_binary
    return read(first), read(second)


def _read_binary(files: list[Path]) -> Labelled:
    """Read records of a label and 32 x 32 pixels, all red ones first, then green, then blue."""
    parts = []
    for file in files:
        data = np.frombuffer(file.read_bytes(), np.uint8)
        if not len(data) or len(data) % RECORD or data[::RECORD].max() >= CLASSES:
            raise SOURCE.missing(f"{file} is no whole file of its binary version")
        parts.append(data.reshape(-1, RECORD))
    records = np.concatenate(parts)
    images = records[:, 1:].reshape(-1, 3, SIZE, SIZE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), records[:, 0]


def _read_packed(files: list[Path]) -> Labelled:
    rows = [(file, row) for file in files for row in read_rows(file, ["img", "label"])]
    images = [read_image(row["img"]["bytes"], SIZE, f"An image of {file}") for file, row in rows]
    labels = [row["label"] for _, row in rows]
    if not labels or not set(labels) <= set(range(CLASSES)):
        raise SOURCE.missing(f"{files[0]} has no images, or labels other than 0 to 9")
    return np.stack(images), np.array(labels, np.uint8)


def _shuffled(data: Labelled, rng: np.random.Generator) -> Labelled:
    order = rng.permutation(len(data[1]))
    return data[0][order], data[1][order]


def _write(folder: Path, split: str, data: Labelled) -> None:
    np.save(folder / "workspace" / f"{split}_images.npy", data[0])
    _write_labels(folder / split / "labels.csv", data[1])


def _write_labels(path: Path, labels: Any) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "label"])
        writer.writerows(enumerate(labels.tolist()))
