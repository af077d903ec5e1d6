"""The data: MultiNLI, its training pairs split by the seed."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ludus.research.data.sources import Download, Source, read_rows

LABELS = ("entailment", "neutral", "contradiction")
VALIDATION, SHARE = 10_000, 0.1
"""Training pairs whose labels are kept for validations; where there are few, this share."""

SOURCE = Source(
    name="MultiNLI (MNLI)",
    variable="LUDUS_DATA_MNLI",
    files="multinli_1.0_train.jsonl and multinli_1.0_dev_matched.jsonl (or the train-*.parquet and "
    "validation_matched-*.parquet of nyu-mll/multi_nli)",
    origin="https://cims.nyu.edu/~sbowman/multinli/ (multinli_1.0.zip)",
    hub=("nyu-mll/multi_nli", "nyu-mll/glue", "multi_nli", "glue"),
    layouts=(
        ["**/multinli_1.0_train.jsonl", "**/multinli_1.0_dev_matched.jsonl"],
        ["**/mnli/train-*.parquet", "**/mnli/validation_matched-*.parquet"],
        ["data/train-*.parquet", "data/validation_matched-*.parquet"],
        ["train-*.parquet", "validation_matched-*.parquet"],
    ),
    downloads=(
        Download(
            "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip",
            ".",
            "049f507b9e36b1fcb756cfd5aeb3b7a0cfcb84bf023793652987f7e7e0957822",
            unpack=True,
        ),
    ),
    rows={"train": 392_702, "dev_matched": 9_815},
)

Pair = tuple[str, str, str]


def build(folder: Path, seed: int) -> None:
    """Write pairs of sentences into the workspace, with labels those for training only."""
    known, test = (_read(files) for files in SOURCE.find())
    rng = np.random.default_rng(seed)
    asked = {premise for premise, _, _ in test}
    usable = [pair for pair in known if pair[0] not in asked]
    # Several pairs share a premise; those of one premise stay together.
    premises = list(dict.fromkeys(premise for premise, _, _ in usable))
    held_back = min(VALIDATION, int(SHARE * len(usable)))
    share = int(len(premises) * held_back / max(len(usable), 1))
    kept = {premises[place] for place in rng.permutation(len(premises))[:share]}
    validation = [pair for pair in usable if pair[0] in kept]
    if not validation or len(kept) == len(premises):
        raise SOURCE.missing(f"{len(usable)} usable pairs for training, which are too few")
    _write(folder, "validation", _shuffled(validation, rng))
    _write(folder, "test", _shuffled(test, rng))
    train = [pair for pair in usable if pair[0] not in kept]
    names = ("premise", "hypothesis", "label")
    rows = (dict(zip(names, pair, strict=True)) for pair in _shuffled(train, rng))
    _write_rows(folder / "workspace" / "train.jsonl", rows)


def count_rows() -> dict[str, int]:
    """Return the number of pairs with a label, of each part."""
    return {name: len(_read(files)) for name, files in zip(SOURCE.rows, SOURCE.find(), strict=True)}


def _read(files: list[Path]) -> list[Pair]:
    """Return the pairs that have a label; the identifiers of the original give it away."""
    packed = files[0].suffix == ".parquet"
    names = (
        ["premise", "hypothesis", "label"] if packed else ["sentence1", "sentence2", "gold_label"]
    )
    pairs = []
    for file in files:
        for row in read_rows(file, names):
            premise, hypothesis, label = (row[name] for name in names)
            if packed:
                label = LABELS[label] if label in range(len(LABELS)) else "-"
            if label in LABELS:
                pairs.append((str(premise), str(hypothesis), str(label)))
    if not pairs:
        raise SOURCE.missing(f"{files[0]} has no pairs with a label")
    return pairs


def _shuffled(pairs: list[Pair], rng: np.random.Generator) -> list[Pair]:
    return [pairs[place] for place in rng.permutation(len(pairs))]


def _write(folder: Path, split: str, pairs: list[Pair]) -> None:
    rows = (
        {"id": number, "premise": premise, "hypothesis": hypothesis}
        for number, (premise, hypothesis, _) in enumerate(pairs)
    )
    _write_rows(folder / "workspace" / f"{split}.jsonl", rows)
    with (folder / split / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "label"])
        writer.writerows((number, label) for number, (_, _, label) in enumerate(pairs))


def _write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
