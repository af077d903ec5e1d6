"""A competition's leaderboard: its direction, and the scores that won medals."""

from __future__ import annotations

import csv
import io
import math
import statistics
from dataclasses import dataclass
from typing import Literal

from ludus.errors import TaskError

__all__ = ["Leaderboard", "read_leaderboard"]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Scores of the teams, best first."""

    scores: tuple[float, ...]

    @property
    def direction(self) -> Literal["higher", "lower"]:
        """Whether higher scores are better, by the order of the teams."""
        return "lower" if self.scores[0] < self.scores[-1] else "higher"

    @property
    def median(self) -> float:
        """The median score."""
        return statistics.median(self.scores)

    def medals(self) -> dict[str, float]:
        """Return the worst score that wins each medal, by Kaggle's rules for that many teams."""
        teams = len(self.scores)
        if teams < 250:
            gold = 0.1 * teams if teams < 100 else 10.0
            places = {"gold": gold, "silver": 0.2 * teams, "bronze": 0.4 * teams}
        elif teams < 1000:
            places = {"gold": 10 + 0.002 * teams, "silver": 50.0, "bronze": 100.0}
        else:
            places = {"gold": 10 + 0.002 * teams, "silver": 0.05 * teams, "bronze": 0.1 * teams}
        return {
            medal: self.scores[min(max(int(place), 1), teams) - 1]
            for medal, place in places.items()
        }


def read_leaderboard(text: str) -> Leaderboard:
    """Read a table with a column ``score``, best team first.

    Raises:
        TaskError: There is no such column, or no finite score.
    """
    scores = []
    try:
        for row in csv.DictReader(io.StringIO(text)):
            cell = row.get("score")
            if cell is None:
                raise TaskError("leaderboard.csv has no column 'score' in each of its rows.")
            if cell.strip():
                scores.append(float(cell))
    except (csv.Error, ValueError) as problem:
        raise TaskError(f"leaderboard.csv cannot be read: {problem}.") from problem
    if not scores or not all(map(math.isfinite, scores)):
        raise TaskError("leaderboard.csv has no finite scores; expected one for each team.")
    return Leaderboard(tuple(scores))
