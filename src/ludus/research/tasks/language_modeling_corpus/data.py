"""The data: passages of a packaged text, drawn from the seed, in letters drawn from the seed."""

from __future__ import annotations

import json
import lzma
import string
from pathlib import Path

import numpy as np

CORPUS = Path(__file__).with_name("corpus.txt.xz")
PASSAGE = 8_192
SHARES = {"test": 20, "validation": 20}
"""Passages of each hidden split; the others are for training."""


def build(folder: Path, seed: int) -> None:
    """Write the training text into the workspace, and hidden passages beside it."""
    rng = np.random.default_rng(seed)
    text = lzma.decompress(CORPUS.read_bytes()).decode("ascii")
    passages = _passages(text.translate(_exchange(rng)))
    order = rng.permutation(len(passages)).tolist()
    for split, count in SHARES.items():
        drawn, order = sorted(order[:count]), order[count:]
        hidden = json.dumps([passages[place] for place in drawn], indent=0)
        (folder / split / "passages.json").write_text(hidden + "\n", "utf-8")
    train = "".join(passages[place] for place in sorted(order))
    (folder / "workspace" / "train.txt").write_bytes(train.encode("ascii"))


def _passages(text: str) -> list[str]:
    """Cut a text at ends of lines into pieces of about the same size."""
    passages, start = [], 0
    while start < len(text):
        end = text.find("\n", start + PASSAGE) + 1 or len(text)
        passages.append(text[start:end])
        start = end
    return passages


def _exchange(rng: np.random.Generator) -> dict[int, int]:
    """Return a table that exchanges letters; capitals go with their small ones."""
    letters = string.ascii_lowercase
    others = "".join(rng.permutation(list(letters)))
    return str.maketrans(letters + letters.upper(), others + others.upper())
