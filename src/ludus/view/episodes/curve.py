"""A curve of scores as lines and points of a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ludus.view.episodes.trajectory import Subject
from ludus.view.model.series import thinned

__all__ = ["Curve", "Point", "score_curve"]

WIDTH, HEIGHT = 640, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 12, 26
_MOST_POINTS = 400
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Point:
    """A validation in the picture; without a score it lies at the bottom."""

    n: int
    score: float | None
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Scores by step."""

    points: list[Point]
    line: str
    best: str
    ticks: list[tuple[float, str]]
    steps: list[tuple[float, int]]
    references: list[tuple[str, float, float]]
    """Name, score and height of baseline and threshold."""
    width: int = WIDTH
    height: int = HEIGHT


def score_curve(
    validations: Sequence[tuple[int, float | None]], subject: Subject, count: int
) -> Curve | None:
    """Return the curve of validation scores; ``None`` if nothing was validated."""
    if not validations:
        return None
    scores = [score for _, score in validations if score is not None]
    named = [("baseline", subject.baseline), ("threshold", subject.threshold)]
    known = [(name, value) for name, value in named if value is not None]
    low, high = _range([*scores, *(value for _, value in known)])
    last = max(count - 1, 1)

    def x(n: int) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * n / last, 1)

    def y(score: float) -> float:
        share = (score - low) / (high - low)
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * share, 1)

    shown = thinned(validations, _MOST_POINTS)
    points = [Point(n, s, x(n), HEIGHT - _BOTTOM if s is None else y(s)) for n, s in shown]
    line = " ".join(f"{one.x},{one.y}" for one in points if one.score is not None)
    return Curve(
        points=points,
        line=line,
        best=_best(points, lower=subject.lower, end=x(last)),
        ticks=[(y(tick), f"{tick:.6g}") for tick in _ticks(low, high)],
        steps=[(x(n), n) for n in sorted({0, last // 2, last})],
        references=[(name, value, y(value)) for name, value in known],
    )


def _best(points: Sequence[Point], *, lower: bool, end: float) -> str:
    """Return the stairs of the best score so far."""
    places: list[str] = []
    best: float | None = None
    for one in points:
        if one.score is None or (best is not None and (one.score < best) is not lower):
            continue
        if places:
            places.append(f"{one.x},{places[-1].partition(',')[2]}")
        places.append(f"{one.x},{one.y}")
        best = one.score
    if places:
        places.append(f"{end},{places[-1].partition(',')[2]}")
    return " ".join(places)


def _ticks(low: float, high: float) -> list[float]:
    """Return a few round numbers within a range."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    apart = next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= rough * 0.999)
    first = math.ceil(low / apart)
    return [apart * part + 0.0 for part in range(first, math.floor(high / apart) + 1)][:20]


def _range(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    room = (high - low) * 0.08 or max(abs(high), 1.0) * 0.1
    low, high = low - room, high + room
    return (low, high) if math.isfinite(high - low) else (0.0, 1.0)
