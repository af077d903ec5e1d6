"""The grader: cross-entropy of hidden documents in nats per byte, asked for byte by byte."""

from __future__ import annotations

import json
import math
from pathlib import Path

from ludus.research.grading import Score, Split, Submission
from ludus.research.grading.prediction import cut_windows, mean_bits

SECONDS = 120.0
"""Of the submitted code, for all its answers."""
WINDOWS = 1_000


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the score of the submitted model on one split."""
    hidden = json.loads((labels / "passages.json").read_text("utf-8"))
    windows = cut_windows([document.encode() for document in hidden], most=WINDOWS, seed=seed)
    code = submission.code("model.py")
    bits = mean_bits(code, windows, seconds=SECONDS)
    details = {"windows": len(windows), "bits_per_byte": bits, "split": split}
    return Score(bits * math.log(2), details)
