"""A figure with its interval and its n, and how numbers are written everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["NOTHING", "Estimate", "number"]

NOTHING = "—"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, the runs behind it, and its confidence interval where there can be one.

    Attributes:
        value: the figure itself.
        low: lower end of the interval; ``None`` where a task has a single run, which says nothing
            about how much runs differ.
        high: upper end, ``None`` likewise.
        n: number of runs that the figure is made of.
        confidence: of the interval.

    Raises:
        ValueError: if half an interval is given, or any at ``n = 1``.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError("An interval has two ends; give both, or None for both.")
        if self.n < 1:
            raise ValueError(f"A figure needs at least one run; got n = {self.n}.")
        if self.n == 1 and self.low is not None:
            raise ValueError("One run has no interval; give None for both ends.")
        if not 0 < self.confidence < 1:
            raise ValueError(f"Confidence lies between 0 and 1; got {self.confidence}.")

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or ``None``."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        ends = self.interval
        if ends is None:
            return f"{number(self.value)} (n = {self.n}, no interval)"
        return f"{number(self.value)} [{number(ends[0])}, {number(ends[1])}] (n = {self.n})"


def number(value: float | None) -> str:
    """Write a number with four significant digits, and ``None`` as a dash."""
    if value is None or not math.isfinite(value):
        return NOTHING if value is None else str(value)
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= magnitude < 9:
        return f"{value:.3e}"
    text = f"{value:.{max(0, 3 - magnitude)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
