"""The data: handwritten digits that come with scikit-learn, split by the seed."""

from __future__ import annotations

import csv
import gzip
import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ludus.distribution import pip_install
from ludus.errors import DataMissing

SOURCE = "datasets/data/digits.csv.gz"
ENDS = {"train": 0.6, "validation": 0.8, "test": 1.0}
"""Where each split ends."""
PIXELS = [f"p{row}{column}" for row in range(8) for column in range(8)]


def build(folder: Path, seed: int) -> None:
    """Write the workspace's files, and the labels beside it.

    Raises:
        DataMissing: scikit-learn, or the table in it, is not here.
    """
    # In the source, labels follow each other in a pattern. So that nobody who knows the seed finds
    # it again, what is shuffled has an order that follows from the pixels, which everybody sees.
    digits = sorted(_digits(), key=lambda digit: digit[:-1])
    order = np.random.default_rng(seed).permutation(len(digits)).tolist()
    ends = [round(share * len(order)) for share in ENDS.values()]
    first = 0
    for split, end in zip(ENDS, ends, strict=True):
        chosen = [(first + i, *digits[row]) for i, row in enumerate(order[first:end])]
        first = end
        if split == "train":
            _write(folder / "workspace" / "train.csv", ["id", *PIXELS, "label"], chosen)
            continue
        _write(folder / "workspace" / f"{split}.csv", ["id", *PIXELS], [row[:-1] for row in chosen])
        labels = [(row[0], row[-1]) for row in chosen]
        _write(folder / split / "labels.csv", ["id", "label"], labels)


def _digits() -> list[tuple[int, ...]]:
    """Return the pixels of all pictures, each with its label behind."""
    spec = importlib.util.find_spec("sklearn")
    places = [Path(place, SOURCE) for place in (spec and spec.submodule_search_locations) or ()]
    source = next((place for place in places if place.is_file()), None)
    if source is None:
        raise DataMissing(
            f"The digits, {SOURCE} of scikit-learn, are not here. Install scikit-learn: "
            f"{pip_install('research')}."
        )
    with gzip.open(source, "rt", encoding="ascii", newline="") as file:
        return [tuple(int(float(field)) for field in row) for row in csv.reader(file)]


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
