"""Scores between a reference minimum (0) and a reference maximum (1) of their task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.bench.statistics.estimate import number
from ludus.bench.statistics.scores import FloatArray, Scores, as_scores

__all__ = ["Normalised", "Reference", "normalise", "normalise_tasks"]


@dataclass(frozen=True, slots=True)
class Reference:
    """Two known scores of a task that give other scores a scale.

    Attributes:
        minimum: the lower of the two, such as a random agent's.
        maximum: the higher, such as the best that is possible.
        higher_is_better: if not, ``maximum`` becomes 0 and ``minimum`` becomes 1.
        source: where the two come from.

    Raises:
        ValueError: if the two are not finite, or not in order.
    """

    minimum: float
    maximum: float
    higher_is_better: bool = True
    source: str = ""

    def __post_init__(self) -> None:
        finite = math.isfinite(self.minimum) and math.isfinite(self.maximum)
        if not finite or self.minimum >= self.maximum:
            raise ValueError(
                f"A reference needs minimum < maximum, both finite; got {self.minimum} and "
                f"{self.maximum}. For scores where lower is better, give the two in the same "
                f"order and higher_is_better=False."
            )

    @classmethod
    def between(cls, zero: float, one: float, source: str = "") -> Reference:
        """Make a reference of the score that becomes 0 and the score that becomes 1."""
        return cls(min(zero, one), max(zero, one), one > zero, source)

    @property
    def worst(self) -> float:
        """The end of the scale that becomes 0."""
        return self.minimum if self.higher_is_better else self.maximum

    def scale(self, scores: npt.ArrayLike) -> FloatArray:
        """Give scores as shares of the way from worst to best; they may lie beyond either."""
        span = self.maximum - self.minimum
        sign = 1.0 if self.higher_is_better else -1.0
        return np.asarray(sign * (np.asarray(scores, dtype=np.float64) - self.worst) / span)

    def __str__(self) -> str:
        order = "" if self.higher_is_better else ", lower is better"
        return f"{number(self.minimum)} … {number(self.maximum)}{order}"


@dataclass(frozen=True, slots=True)
class Normalised:
    """A normalised score that cannot be separated from what it was made of."""

    value: float
    score: float
    reference: Reference

    def __str__(self) -> str:
        return f"{number(self.value)} ({number(self.score)} on {self.reference})"


def normalise(score: float, reference: Reference) -> Normalised:
    """Normalise one score and keep the score and the reference beside it."""
    return Normalised(float(reference.scale(score)), float(score), reference)


def normalise_tasks(
    runs: Mapping[str, npt.ArrayLike], references: Mapping[str, Reference]
) -> Scores:
    """Normalise the runs of several tasks, each on its own scale.

    Raises:
        ValueError: if a task has no reference; the message names it.
    """
    missing = sorted(runs.keys() - references.keys())
    if missing:
        raise ValueError(f"No reference minimum and maximum are known for {', '.join(missing)}.")
    return as_scores({task: references[task].scale(values) for task, values in runs.items()})
