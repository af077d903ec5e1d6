"""The grader: bits per byte of hidden passages, asked for byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

from ludus.research.grading import Score, Split, Submission
from ludus.research.grading.prediction import cut_windows, mean_bits

SECONDS = 60.0
"""Of the submitted code, for all its answers."""


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the score of the submitted model on one split."""
    hidden = json.loads((labels / "passages.json").read_text("utf-8"))
    windows = cut_windows([passage.encode("ascii") for passage in hidden], most=1_000, seed=seed)
    code = submission.code("model.py")
    bits = mean_bits(code, windows, seconds=SECONDS)
    return Score(bits, {"windows": len(windows), "split": split})
