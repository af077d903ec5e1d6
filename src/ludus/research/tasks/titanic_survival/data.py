"""The data: the passengers in a table that comes with scikit-learn's tests, split by the seed."""

from __future__ import annotations

import csv
import gzip
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np

from ludus.distribution import pip_install
from ludus.errors import DataMissing

SOURCE = "datasets/tests/data/openml/id_40945/data-v1-dl-16826755.arff.gz"
# Three more follow: lifeboat and body would give the answer away, home is not in Kaggle's table.
COLUMNS = [
    "Pclass", "Survived", "Name", "Sex", "Age", "SibSp", "Parch", "Ticket", "Fare", "Cabin",
    "Embarked",
]  # fmt: skip
ID, ANSWER = "PassengerId", "Survived"
ENDS = {"train": 0.6, "validation": 0.8, "test": 1.0}
"""Where each split ends."""


def build(folder: Path, seed: int) -> None:
    """Write the workspace's files, and the labels beside it.

    Raises:
        DataMissing: scikit-learn, or the table in it, is not here.
    """
    features = [name for name in COLUMNS if name != ANSWER]
    # Neither fates nor the order in the source must be recoverable by who knows the seed: what is
    # shuffled has an order that follows from what everybody sees.
    passengers = sorted(_passengers(), key=itemgetter(*features))
    order = np.random.default_rng(seed).permutation(len(passengers)).tolist()
    ends = [round(share * len(order)) for share in ENDS.values()]
    first = 0
    for split, end in zip(ENDS, ends, strict=True):
        chosen = [
            passengers[row] | {ID: str(first + 1 + i)} for i, row in enumerate(order[first:end])
        ]
        first = end
        shown = [ANSWER, *features] if split == "train" else features
        _write(folder / "workspace" / f"{split}.csv", [ID, *shown], chosen)
        if split != "train":
            _write(folder / split / "labels.csv", [ID, ANSWER], chosen)


def _passengers() -> list[dict[str, str]]:
    """Return the fields of all passengers, empty where unknown."""
    spec = importlib.util.find_spec("sklearn")
    places = [Path(place, SOURCE) for place in (spec and spec.submodule_search_locations) or ()]
    source = next((place for place in places if place.is_file()), None)
    if source is None:
        raise DataMissing(
            f"The table of passengers, {SOURCE} of scikit-learn, is not here. Install "
            f"scikit-learn from a wheel, with its tests: {pip_install('research')}."
        )
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        for line in file:
            if line.strip().lower() == "@data":
                break
        rows = [row for row in csv.reader(file) if row]
    known = [["" if field == "?" else field for field in row] for row in rows]
    return [dict(zip(COLUMNS, row, strict=False)) for row in known]


def _write(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
