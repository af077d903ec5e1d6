"""What every chart shares: the outer element with its name and description, text and axes."""

from __future__ import annotations

from collections.abc import Iterable

from ludus.bench.report.charts.scale import AxisScale
from ludus.bench.report.markup import Markup, element, join

__all__ = ["FONT", "chart", "horizontal_axis", "label", "vertical_axis"]

FONT = 13.0
"""Size of a chart's text, in its own units; charts are shown at nearly their own size."""


def chart(
    key: str,
    parts: Iterable[Markup],
    *,
    width: float,
    height: float,
    title: str,
    description: str,
    class_: str = "",
) -> Markup:
    """A picture with an accessible name and description; ``key`` is unique in the page."""
    return element(
        "svg",
        element("title", title, id=f"{key}-title"),
        element("desc", description, id=f"{key}-desc"),
        join(parts),
        class_=f"chart {class_}".strip(),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
    )


def label(
    text: str, x: float, y: float, *, anchor: str = "start", class_: str | None = None
) -> Markup:
    """A piece of text."""
    return element("text", text, x=x, y=y, text_anchor=anchor, class_=class_)


def horizontal_axis(
    scale: AxisScale, *, top: float, bottom: float, name: str | None = None
) -> list[Markup]:
    """Grid lines, tick labels and the axis' name underneath."""
    room = abs(scale.stop - scale.start)
    ticks = scale.ticks(max(2, int(room // 64)))
    parts = [_line(scale(value), top, scale(value), bottom, "grid") for value, _ in ticks]
    parts += [
        label(text, x, bottom + 17, anchor="middle", class_="tick")
        for x, text in _spaced(ticks, scale)
    ]
    parts.append(_line(scale.start, bottom, scale.stop, bottom, "axis"))
    if name:
        middle = (scale.start + scale.stop) / 2
        parts.append(label(name, middle, bottom + 36, anchor="middle", class_="name"))
    return parts


def vertical_axis(
    scale: AxisScale, *, left: float, right: float, name: str | None = None
) -> list[Markup]:
    """Grid lines, tick labels and the axis' name above, written horizontally."""
    ticks = scale.ticks(max(2, int(abs(scale.stop - scale.start) // 44)))
    parts = [_line(left, scale(value), right, scale(value), "grid") for value, _ in ticks]
    parts += [
        label(text, left - 7, scale(value) + 4.5, anchor="end", class_="tick")
        for value, text in ticks
    ]
    if name:
        parts.append(label(name, 2, min(scale.start, scale.stop) - 12, class_="name"))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("path", class_=class_, d=f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}")


def _spaced(ticks: tuple[tuple[float, str], ...], scale: AxisScale) -> list[tuple[float, str]]:
    """Places of those labels that do not touch their neighbours; none sticks out far."""
    kept: list[tuple[float, str]] = []
    edge = float("-inf")
    for value, text in ticks:
        half = len(text) * FONT * 0.34
        x = min(scale(value), scale.stop + 12 - half)
        if x - half >= edge:
            kept.append((x, text))
            edge = x + half + 6
    return kept
