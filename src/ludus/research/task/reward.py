"""From scores to rewards: one formula, pure, the same for every task.

A score ``s`` becomes a share of the way from the baseline to the threshold::

    u(s) = max((s - baseline) / (threshold - baseline), u(floor), -1)

so u is 0 for the baseline, 1 for the threshold and more beyond it. Where lower scores are better,
numerator and denominator change their signs together, and nothing else does. ``floor`` is what the
null submission scores; a task that does not say takes its baseline, so u is never negative. A task
without a baseline has no way to measure: u is 1 at the threshold or beyond, else 0.

A fault is worth the least that u can be, so between -1 and 0 in every task. The bound is on the
score itself: no outcome counts as less than :attr:`Scale.least`, and so rewards, tables, reports
and leaderboards agree. Version 1 of the scale had no bound at -1; records say which version they
were made with, see :data:`VERSION`.

An episode starts at 0, where the baseline is. A validation is worth what it improves the best u so
far by, so nothing is lost by trying. The end is worth what is missing to u of the test split::

    r_t = max(0, u_validation - best)        r_T = u_test - (r_1 + … + r_{T-1})

The rewards of an episode therefore add up to its final normalised score, whatever was validated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ludus.bench.outcome import counted_score, normalised_score
from ludus.bench.result import OutcomeKind
from ludus.research.task.outcome import Outcome

__all__ = ["VERSION", "Direction", "RewardTotals", "Scale"]

Direction = Literal["higher", "lower"]

VERSION = 2
"""Of the scale; records keep theirs, and those that do not say have version 1."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What a task's scores are measured with.

    Raises:
        ValueError: A number is not finite, the threshold is not better than the baseline, or the
            floor is better than it.
    """

    threshold: float
    baseline: float | None = None
    floor: float | None = None
    direction: Direction = "higher"
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.version not in (1, VERSION):
            raise ValueError(f"version is {self.version!r}; expected 1 or {VERSION}")
        for name in ("threshold", "baseline", "floor"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}; expected a finite number")
        if self.baseline is None:
            return
        if not self.better(self.threshold, self.baseline):
            raise ValueError(
                f"{self.direction} is better, so the threshold ({self.threshold:g}) must be "
                f"{self.direction} than the baseline ({self.baseline:g})"
            )
        if self.floor is not None and self.better(self.floor, self.baseline):
            raise ValueError(
                f"the floor ({self.floor:g}) is better than the baseline ({self.baseline:g}); "
                "a submission of nothing must not beat a solution"
            )

    def better(self, score: float, other: float) -> bool:
        """Whether a score is better than another."""
        return score > other if self.direction == "higher" else score < other

    @property
    def worst(self) -> float:
        """The least that u can be; an agent whose submission is refused gets it."""
        return self.normalised("agent_fault", None) or 0.0

    @property
    def least(self) -> float | None:
        """The least that a submission counts as: the floor, else the baseline's score.

        A floor that is further from the baseline than the threshold counts as the score that far
        below it, whose u is -1.
        """
        if self.floor is None or self.baseline is None or self.version == 1:
            return self.baseline if self.floor is None else self.floor
        bound = self.baseline - (self.threshold - self.baseline)
        return bound if self.better(bound, self.floor) else self.floor

    @property
    def described(self) -> str:
        """The reward of an episode in words: its range, 0, 1 and the value of a fault."""
        aim = f"{self.threshold:g} or {'more' if self.direction == 'higher' else 'less'}"
        if self.baseline is None:
            return f"0 or 1: 1 is a score of {aim}, 0 any other and a fault"
        return (
            f"{self.worst:.4g} or more: 0 is the baseline's score ({self.baseline:g}), 1 the "
            f"threshold ({self.threshold:g}), {self.worst:.4g} a fault"
        )

    def normalise(self, score: float) -> float:
        """Return u of a score.

        Raises:
            ValueError: It is not finite, so it is no score.
        """
        return self.normalised("scored", score) or 0.0

    def of(self, outcome: Outcome) -> float | None:
        """Return u of an outcome; ``None`` if it says nothing about the agent."""
        return self.normalised(outcome.kind, outcome.score)

    def counted(self, outcome: OutcomeKind, score: float | None) -> float | None:
        """Return the score that an outcome counts as, see :func:`ludus.bench.outcome`."""
        return counted_score(outcome, score, floor=self.least, lower=self.direction == "lower")

    def normalised(self, outcome: OutcomeKind, score: float | None) -> float | None:
        """Return u of an outcome; ``None`` if it says nothing about the agent.

        Raises:
            ValueError: The score is not finite, so it is no score.
        """
        if score is not None and not math.isfinite(score):
            raise ValueError(f"{score} is no score; expected a finite number")
        if self.baseline is not None:
            return normalised_score(
                outcome, score, zero=self.baseline, one=self.threshold, floor=self.least
            )
        if outcome == "infrastructure_fault":
            return None
        is_solved = outcome == "scored" and score is not None
        return float(is_solved and not self.better(self.threshold, score or 0.0))


@dataclass(frozen=True, slots=True)
class RewardTotals:
    """What an episode was worth so far: the best u of a validation, and the rewards given."""

    best: float = 0.0
    given: float = 0.0

    def improved(self, u: float) -> tuple[float, RewardTotals]:
        """Return the reward of a validation, and the ledger after it."""
        reward = max(0.0, u - self.best)
        return reward, RewardTotals(max(self.best, u), self.given + reward)

    def settled(self, u: float) -> tuple[float, RewardTotals]:
        """Return the reward of the episode's end, and the ledger after it."""
        reward = u - self.given
        return reward, RewardTotals(self.best, self.given + reward)
