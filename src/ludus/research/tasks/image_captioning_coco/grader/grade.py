"""The grader: BLEU-4 of the captions against those that people wrote."""

from __future__ import annotations

import json
from pathlib import Path

from bleu import bleu

from ludus.research.grading import Column, Score, Split, Submission


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the score of the captions for one split."""
    references: dict[int, list[str]] = {}
    for row in json.loads((labels / f"{split}_captions.json").read_text("utf-8")):
        references.setdefault(row["id"], []).append(row["caption"])
    columns: dict[str, type | Column] = {"id": int, "caption": Column(str, length=500)}
    table = submission.csv(f"captions/{split}.csv", columns, ids=list(references))
    score = bleu(zip(table["caption"], references.values(), strict=True))
    return Score(score, {"rows": len(references), "seed": seed})
