"""The data: documents of FineWeb, split by the seed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ludus.research.data.sources import Download, Source, read_rows

POOL = 48_000_000
"""Bytes of the documents that a seed draws from: the first of the shards, in their order."""
TRAIN, HIDDEN = 32_000_000, 1_000_000
SHARE = 0.1
"""Of the pool, for each hidden split, where there is less than that."""
BETWEEN = "\n\n\n"

SOURCE = Source(
    name="FineWeb",
    variable="LUDUS_DATA_FINEWEB",
    files="shards of it (.parquet, .jsonl or .jsonl.gz with a column 'text')",
    origin="https://huggingface.co/datasets/HuggingFaceFW/fineweb (a shard of sample/10BT will do)",
    hub=("HuggingFaceFW/fineweb",),
    layouts=(["**/*.parquet"], ["**/*.jsonl"], ["**/*.jsonl.gz"]),
    downloads=(
        Download(
            "https://huggingface.co/datasets/HuggingFaceFW/fineweb/resolve/main/"
            "sample/10BT/000_00000.parquet",
            "sample/10BT/000_00000.parquet",
        ),
    ),
    rows={"bytes": POOL},
)


def build(folder: Path, seed: int) -> None:
    """Write the training text into the workspace, and hidden documents beside it."""
    texts = list(dict.fromkeys(_documents()))
    if len(texts) < 3:
        raise SOURCE.missing(f"{len(texts)} documents, which cannot be split")
    order = np.random.default_rng(seed).permutation(len(texts)).tolist()
    hidden = min(HIDDEN, int(SHARE * sum(map(_size, texts))))
    for split in ("test", "validation"):
        drawn = _draw(texts, order, hidden)
        (folder / split / "passages.json").write_text(json.dumps(drawn, indent=0) + "\n", "utf-8")
    train = BETWEEN.join(_draw(texts, order, TRAIN)) + "\n"
    (folder / "workspace" / "train.txt").write_bytes(train.encode())


def count_rows() -> dict[str, int]:
    """Return the bytes of text, as far as a seed draws from them."""
    return {"bytes": min(POOL, sum(map(_size, _documents())))}


def _documents() -> Iterator[str]:
    shards = SOURCE.find()[0]
    left = POOL
    for shard in shards:
        for row in read_rows(shard, ["text"]):
            text = str(row["text"]).encode("utf-8", "replace").decode()
            yield text
            left -= _size(text)
            if left <= 0:
                return


def _draw(texts: list[str], order: list[int], size: int) -> list[str]:
    """Take documents off the order until there are so many bytes."""
    drawn: list[str] = []
    while order and size > 0:
        drawn.append(texts[order.pop()])
        size -= _size(drawn[-1])
    return drawn


def _size(text: str) -> int:
    return len(text.encode())
