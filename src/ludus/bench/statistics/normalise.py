"""Scores between a reference minimum (0) and a reference maximum (1) of their task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.bench.statistics.bootstrap import number
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
        floor: the least that a result counts as, an agent's fault included; not better than the
            score that becomes 0. ``None`` if the task declares none.

    Raises:
        ValueError: if the numbers are not finite, or not in order.
    """

    minimum: float
    maximum: float
    higher_is_better: bool = True
    source: str = ""
    floor: float | None = None

    def __post_init__(self) -> None:
        finite = math.isfinite(self.minimum) and math.isfinite(self.maximum)
        if not finite or self.minimum >= self.maximum:
            raise ValueError(
                f"A reference needs minimum < maximum, both finite; got {self.minimum} and "
                f"{self.maximum}. For scores where lower is better, give the two in the same "
                f"order and higher_is_better=False."
            )
        if self.floor is None:
            return
        if not math.isfinite(self.floor) or float(self.scale(self.floor)) > 0:
            raise ValueError(
                f"The floor {self.floor} is not finite, or better than {self.worst}, the score "
                f"that becomes 0; give the least that a result can count as."
            )

    @classmethod
    def between(
        cls, zero: float, one: float, source: str = "", *, floor: float | None = None
    ) -> Reference:
        """Make a reference of the score that becomes 0 and the score that becomes 1."""
        return cls(min(zero, one), max(zero, one), one > zero, source, floor)

    @property
    def worst(self) -> float:
        """The end of the scale that becomes 0."""
        return self.minimum if self.higher_is_better else self.maximum

    @property
    def best(self) -> float:
        """The end of the scale that becomes 1."""
        return self.maximum if self.higher_is_better else self.minimum

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
