"""The grader: returns of the submitted policies, in environments that live here only."""

from __future__ import annotations

from pathlib import Path

from ludus.research.grading import Score, Split, Submission
from ludus.research.grading.policies import PolicyTest

KEY = "4cae0da2fa1a8a4ac9b4d35f3f4ec000"
TEST = PolicyTest("MinAtar/Breakout-v1", frames=999)


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:
    """Return the mean return."""
    return TEST.grade(submission, seed, split, KEY)
